/** How long the service takes to go on after a process was killed, and to end by itself. The helpers are those of the crash tests. */
import { type Programs, startPrograms } from '../tests/crashing.ts'
import { createKey, scopes } from '../tests/internals.ts'
import type { Owner } from '../tests/owner.ts'
import { startReceiver } from '../tests/receiver.ts'
import { until } from '../tests/support.ts'
import type { Figure } from './figure.ts'

const template = { name: 'hello_world' }
const people = (count: number) => Array.from({ length: count }, (_, i) => ({ to: `+1415557${1_000 + i}` }))

export async function benchRecovery(): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const measure of [measureWorker, measureSimulator, measureChannel, measureStop]) {
    const cleanUps: (() => unknown)[] = []
    figures.push(await measure({ after: (run) => void cleanUps.push(run), diagnostic: console.log, passed: true }))
    for (const run of cleanUps.reverse()) await run()
  }
  return figures
}

/** Milliseconds until the condition is true. */
async function timeUntil(what: string, ask: () => Promise<boolean>): Promise<number> {
  const began = performance.now()
  await until(what, ask)
  return performance.now() - began
}

async function startBroadcast({ db, workspace }: Programs, count: number, messagesPerSecond: number) {
  const { id: workspaceId, parley, provider } = await workspace({ messagesPerSecond })
  const { id } = await parley.broadcasts.create({ name: 'Recovery', template, recipients: people(count) })
  const handedOver = async (): Promise<number> => {
    const [row] = await db<{ position: number }[]>`
      select position from broadcasts where workspace_id = ${workspaceId} and id = ${id}`
    return row?.position ?? 0
  }
  await until('the middle', async () => (await handedOver()) > 50)
  return { id, workspaceId, provider, handedOver }
}

async function measureWorker(owner: Owner): Promise<Figure> {
  const programs = await startPrograms(owner, { roles: ['api', 'worker', 'worker'] })
  const { handedOver } = await startBroadcast(programs, 600, 80)
  await programs.services[1]?.kill()
  const before = await handedOver()
  const ms = await timeUntil('the other worker to go on', async () => (await handedOver()) > before)
  const what = 'a broadcast continues after kill -9 of one of two workers'
  return { what, value: ms / 1000, unit: 's', goal: { below: 2 } }
}

async function measureSimulator(owner: Owner): Promise<Figure> {
  const roles = ['api,worker', 'api,worker']
  const { db, services } = await startPrograms(owner, { roles, env: { DEMO: '1' } })
  const [connection] = await db<{ workspace_id: string; base_url: string }[]>`
    select workspace_id, base_url from channel_connections where simulator = 'built_in' limit 1`
  if (!connection) throw new Error('there is no demo')
  const { key } = await createKey(db, connection.workspace_id, { name: 'Recovery', scopes, created_by: null })
  const host = services.find(({ url }) => connection.base_url.startsWith(url))
  const other = services.find((service) => service !== host)
  await host?.kill()
  const ms = await timeUntil('a send to be taken again', async () => {
    const answer = await fetch(`${other?.url}/v1/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ to: '+14155550100', type: 'template', template }),
    })
    await answer.text()
    // A key allows 120 requests in a minute.
    if (answer.status !== 201) await new Promise((resolve) => setTimeout(resolve, 100))
    return answer.status === 201
  })
  const what = 'the next send is accepted after kill -9 of the host of the simulator'
  return { what, value: ms / 1000, unit: 's', goal: { below: 8 } }
}

async function measureChannel(owner: Owner): Promise<Figure> {
  const programs = await startPrograms(owner)
  const { db, simulator } = programs
  const count = 300
  const pace = 80
  const { id, workspaceId, provider, handedOver } = await startBroadcast(programs, count, pace)
  await simulator.kill()
  await until('the circuit breaker to open', async () => {
    const [number] =
      await db`select 1 from broadcast_paces where workspace_id = ${workspaceId} and breaker_state = 'open'`
    return number
  })
  await simulator.start()
  // As if its 30 seconds were over.
  await db`update broadcast_paces set breaker_until = now() where workspace_id = ${workspaceId}`
  await until('all recipients to be handed over', async () => (await handedOver()) === count)
  const unknown = await until('the reports', async () => {
    const taken = new Set((await provider.sent()).map(({ to }) => to))
    const rows = await db<{ phone: string; status: string }[]>`
      select phone, status from broadcast_recipients where workspace_id = ${workspaceId} and broadcast_id = ${id}`
    const isSettled = rows.every(({ phone, status }) => status === (taken.has(phone) ? 'read' : 'sending'))
    return isSettled && { count: count - taken.size }
  })
  const what = `recipients with an unknown outcome after kill -9 of the channel, at ${pace} messages per second`
  return { what, value: unknown.count, unit: 'people', goal: { below: 11 } }
}

async function measureStop(owner: Owner): Promise<Figure> {
  const { services, workspace } = await startPrograms(owner)
  const [service] = services
  const { parley } = await workspace()
  const receiver = await startReceiver(owner)
  receiver.answers(() => {})
  await parley.webhooks.create({ url: receiver.url, events: ['contact.created'] })
  let isStopped = false
  let lastPhone = 14_155_551_000
  const writers = Array.from({ length: 8 }, async () => {
    while (!isStopped) await parley.contacts.create({ phone: `+${++lastPhone}` }).catch(() => undefined)
  })
  await receiver.until(4)
  const began = performance.now()
  await service.kill('SIGTERM')
  const ms = performance.now() - began
  isStopped = true
  await Promise.all(writers)
  const what = 'SIGTERM under load with an endpoint that hangs: the service has ended'
  return { what, value: ms / 1000, unit: 's', goal: { below: 10 } }
}
