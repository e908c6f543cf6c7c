/** Start time of the service, and its memory when idle. */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Figure } from './figure.ts'
import { discard, startService } from './service.ts'

const settleMs = 5_000

export async function benchStart(): Promise<Figure[]> {
  const first = await startService()
  await first.stop()
  const second = await startService(first.dataDir)
  await fetch(`${second.url}/docs`)
  await sleep(settleMs)
  const figures: Figure[] = [
    { what: 'first start to ready', value: first.readyMs / 1000, unit: 's' },
    { what: 'second start to ready', value: second.readyMs / 1000, unit: 's', goal: { below: 5 } },
    { what: 'idle memory of the service process', value: residentMb(second.pid), unit: 'MB', goal: { below: 150 } },
  ]
  await second.stop()
  discard(second)
  return figures
}

function residentMb(pid: number): number {
  const kilobytes = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kilobytes) / 1024
}
