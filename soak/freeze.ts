/** Stops the processes of a program for a while, as a machine does that swaps, is moved or is suspended. */
import { execFileSync } from 'node:child_process'
import type { Program } from '../tests/program.ts'

export const childrenOf = (pid: number): number[] =>
  execFileSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' })
    .split('\n')
    .map(Number)
    .filter((child) => child > 0)

/** Returns a function that lets them go on. */
export function freeze(program: Program): () => void {
  const pids = [program.pid(), ...childrenOf(program.pid())]
  for (const pid of pids) process.kill(pid, 'SIGSTOP')
  return () => {
    for (const pid of pids) process.kill(pid, 'SIGCONT')
  }
}
