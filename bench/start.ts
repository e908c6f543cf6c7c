/** Start time of the service, and the memory of its processes when idle. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Figure } from './figure.ts'
import { listProcesses, residentMb, sharedMemoryMb } from './memory.ts'
import { discard, type Service, startService } from './service.ts'

const settleMs = 5_000
const moreProcesses = 3

export async function benchStart(): Promise<Figure[]> {
  const first = await startService()
  await first.stop()
  const second = await startService(first.dataDir, { PROCESSES: '1' })
  const one = await measureMemory(second)
  await second.stop()
  const third = await startService(first.dataDir, { PROCESSES: String(moreProcesses) })
  const more = await measureMemory(third)
  await third.stop()
  discard(third)
  return [
    { what: 'first start to ready', value: first.readyMs / 1000, unit: 's' },
    { what: 'second start to ready', value: second.readyMs / 1000, unit: 's', goal: { below: 5 } },
    {
      what: 'idle memory of all processes at `PROCESSES=1` (sum of PSS)',
      value: one.sumMb,
      unit: 'MB',
      goal: { below: 300 },
      note: one.note,
    },
    {
      what: 'idle memory of each further API process (PSS)',
      value: (more.sumMb - one.sumMb) / (moreProcesses - 1),
      unit: 'MB',
      goal: { below: 110 },
      note: more.note,
    },
  ]
}

async function measureMemory(service: Service): Promise<{ sumMb: number; note: string }> {
  await fetch(`${service.url}/docs`)
  await sleep(settleMs)
  const parts = [...listProcesses(service)].map(([name, pid]) => `${name} ${Math.round(residentMb(pid))}`)
  return { sumMb: sharedMemoryMb(service), note: `RSS in MB: ${parts.join(', ')}` }
}
