/**
 * `POST /v1/messages` to people who are sent to for the first time, against people with a contact and a conversation, in
 * alternating rounds. The provider sends no status reports, which cost the same for both.
 */
import { cpuPer, readCpu } from './cpu.ts'
import type { Figure } from './figure.ts'
import { sendTo } from './messages.ts'
import { insertConversations, insertPeople, phoneOf } from './people.ts'
import {
  connectTo,
  createKeys,
  discard,
  measureLoad,
  type Service,
  startService,
  startSimulator,
  toRequest,
} from './service.ts'

const rounds = 3
const perRound = 4_000
const connections = 64

export async function benchFirstContacts(): Promise<Figure[]> {
  const simulator = await startSimulator()
  const service = await startService()
  await connectTo(simulator.url, service)
  const faults = { method: 'POST', headers: { 'content-type': 'application/json' } }
  const body = JSON.stringify({ mode: 'no_statuses' })
  const answer = await fetch(`${simulator.url}/control/faults`, { ...faults, body })
  if (!answer.ok) throw new Error(await answer.text())
  await insertPeople(service.db, service.workspaceId, 0, perRound)
  await insertConversations(service.db, service.workspaceId)
  const keys = await createKeys(service, 2_000)
  const results = []
  for (let round = 0; round < rounds; round++) {
    const known = await send(service, keys, 0)
    results.push({ known, first: await send(service, keys, (1 + round) * perRound) })
  }
  await simulator.stop()
  await service.stop()
  discard(service)
  const shares = results.map(({ known, first }) => first.perSecond / known.perSecond)
  return [
    {
      what: `POST /v1/messages, ${connections} connections, to new people, share of the rate to known ones (median of ${rounds})`,
      value: shares.toSorted((a, b) => a - b)[rounds >> 1] ?? 0,
      unit: '×',
      goal: { atLeast: 0.5 },
      note: results.map(({ known, first }) => `${inWords(first)} against ${inWords(known)}`).join('; '),
    },
  ]
}

type Result = Awaited<ReturnType<typeof send>>

const inWords = ({ perSecond, cpu }: Result): string =>
  `${Math.round(perSecond)}/s (${Math.round(cpu.node)} µs of Node, ${Math.round(cpu.database)} µs of PostgreSQL)`

/** Sends one message to each of the people from `from` on. */
async function send(service: Service, keys: readonly string[], from: number) {
  await service.db`truncate api_key_windows`
  const requests = Array.from({ length: perRound }, (_, i) =>
    toRequest({ path: '/v1/messages', token: keys[i % keys.length] ?? '', body: sendTo(phoneOf(from + i)) }),
  )
  const before = readCpu(service)
  const load = { requests, once: true, expected: 201, connections, seconds: 120, warmUpSeconds: 0 }
  const measured = await measureLoad({ port: service.port, ...load })
  if (measured.failures > 0) throw new Error(`${measured.failures} responses other than 201`)
  return { perSecond: measured.perSecond, cpu: cpuPer(before, readCpu(service), perRound) }
}
