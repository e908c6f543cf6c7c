/** CPU time of the service and of its database, from Linux's /proc. */
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** Microseconds. */
export type Cpu = { node: number; database: number }

/** Of Linux: the unit of CPU times in /proc. */
const tickUs = 10_000

type Row = { pid: number; parentPid: number; cpuUs: number; endedChildrenUs: number }

/**
 * CPU time of the process `pid` with its child processes, and of the database whose main process is `postmasterPid` with its
 * own, including those that have ended.
 */
export function readCpu({ pid, postmasterPid }: { pid: number; postmasterPid: number }): Cpu {
  const rows = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? (readRow(Number(name)) ?? []) : []))
  const sum = (root: number): number =>
    rows.reduce((total, row) => {
      if (row.pid === root) return total + row.cpuUs + row.endedChildrenUs
      return row.parentPid === root && row.pid !== postmasterPid ? total + sum(row.pid) : total
    }, 0)
  return { node: sum(pid), database: sum(postmasterPid) }
}

/** CPU time per operation. */
export const cpuPer = (before: Cpu, after: Cpu, operations: number): Cpu => ({
  node: (after.node - before.node) / operations,
  database: (after.database - before.database) / operations,
})

/** Waits until the engines have nothing left to do: three seconds with less than 100 ms of CPU time each. */
export async function untilIdle(service: { pid: number; postmasterPid: number }): Promise<void> {
  for (let quiet = 0; quiet < 3; ) {
    const before = readCpu(service)
    await sleep(1_000)
    const { node, database } = cpuPer(before, readCpu(service), 1)
    quiet = node + database < 100_000 ? quiet + 1 : 0
  }
}

/** CPU time of one process without its children. */
export const readOwnCpuUs = (pid: number): number => readRow(pid)?.cpuUs ?? 0

/** Undefined if the process has ended. */
function readRow(pid: number): Row | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name of the program, which may contain spaces, is in brackets.
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number)
    const [, parentPid = 0] = fields
    const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15)
    return { pid, parentPid, cpuUs: (user + system) * tickUs, endedChildrenUs: (endedUser + endedSystem) * tickUs }
  } catch {
    return undefined
  }
}
