/** A service with nothing to do: its CPU time per second, with one process of the API and with two. */
import { setTimeout as sleep } from 'node:timers/promises'
import { cpuPer, readCpu, untilIdle } from './cpu.ts'
import type { Figure } from './figure.ts'
import { discard, startService } from './service.ts'

/** A start has work for some seconds after the first answer. */
const settleMs = 30_000
const seconds = Number(process.env.IDLE_SECONDS ?? 60)

export async function benchIdle(): Promise<Figure[]> {
  return [await measureIdle('1'), await measureIdle('2')]
}

async function measureIdle(processes: string): Promise<Figure> {
  const service = await startService(undefined, { PROCESSES: processes })
  await untilIdle(service)
  await sleep(settleMs)
  const before = readCpu(service)
  await sleep(seconds * 1_000)
  const { node, database } = cpuPer(before, readCpu(service), seconds * 1_000)
  await service.stop()
  discard(service)
  return {
    what: `with nothing to do: CPU time per second, PROCESSES=${processes}`,
    value: node + database,
    unit: 'ms',
    goal: { below: 15 },
    note: `${node.toFixed(1)} ms of Node and ${database.toFixed(1)} ms of PostgreSQL`,
  }
}
