/** Memory of the processes of a service, from Linux's /proc. */
import { readFileSync } from 'node:fs'

type Running = { pid: number; postmasterPid: number }

/** The main process and its children without the database, by name. */
export function listProcesses({ pid, postmasterPid }: Running): Map<string, number> {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)
  const named = children.flatMap((child) => {
    const name = readFileSync(`/proc/${child}/cmdline`, 'utf8').split('\0').at(-2) ?? ''
    return child > 0 && child !== postmasterPid ? [[name, child] as const] : []
  })
  return new Map([['main', pid], ...named])
}

/** Proportional set size: a page that several processes share counts once in the sum. */
export function sharedMemoryMb(service: Running): number {
  return [...listProcesses(service).values()].reduce((sum, pid) => sum + readMb(`/proc/${pid}/smaps_rollup`, 'Pss'), 0)
}

/** The resident memory of a process, or its highest so far. */
export const residentMb = (pid: number, field: 'VmRSS' | 'VmHWM' = 'VmRSS'): number =>
  readMb(`/proc/${pid}/status`, field)

function readMb(path: string, field: string): number {
  const [, kilobytes] = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync(path, 'utf8')) ?? []
  return Number(kilobytes) / 1024
}
