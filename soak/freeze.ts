/** Stops the processes of a program for a while, as a machine does that swaps, is moved or is suspended. */
import { childrenOf, type Program } from '../tests/program.ts'

/** Returns a function that lets them go on. */
export function freeze(program: Program): () => void {
  const pids = [program.pid(), ...childrenOf(program.pid())]
  for (const pid of pids) process.kill(pid, 'SIGSTOP')
  return () => {
    for (const pid of pids) process.kill(pid, 'SIGCONT')
  }
}
