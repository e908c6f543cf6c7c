/**
 * Automations: how soon a customer is answered, and how late a run starts that became due among 100,000 that wait.
 *
 * `automation-inbound.ts` measures what they cost the messages of customers.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Parley } from '../sdk/src/index.ts'
import type { Connection } from '../server/channels/channel.ts'
import { measureWaiting } from './automation-waiting.ts'
import { cpuPer, readCpu } from './cpu.ts'
import type { Figure } from './figure.ts'
import { postOnce, toSubject, writtenBy } from './inbound.ts'
import { phoneOf } from './people.ts'
import { connectTo, createKeys, discard, type Service, startService, startSimulator } from './service.ts'

const answers = { perSecond: 20, seconds: 40, warmUp: 60 }

export async function benchAutomation(): Promise<Figure[]> {
  const simulator = await startSimulator()
  const service = await startService()
  const connection = await connectTo(simulator.url, service)
  const [key = ''] = await createKeys(service, 1)
  const parley = new Parley({ apiKey: key, baseUrl: `${service.url}/v1` })
  const figures = [
    ...(await measureAnswers(service, parley, simulator.url, connection)),
    ...(await measureWaiting(service, parley)),
  ]
  await simulator.stop()
  await service.stop()
  discard(service)
  return figures
}

/** Each customer writes once, at a fixed pace, and is answered by an automation. */
async function measureAnswers(
  service: Service,
  parley: Parley,
  simulatorUrl: string,
  connection: Connection,
): Promise<Figure[]> {
  const { id } = await parley.automations.create({
    name: 'Answer',
    definition: {
      trigger: { type: 'message', contains: ['opening hours'] },
      steps: [{ type: 'send', message: { type: 'text', text: 'Hello {{contact.name}}, we are open from 9 to 5.' } }],
    },
  })
  await parley.automations.publish(id)
  const subject = toSubject(service, connection)
  const wroteAt = new Map<string, number>()
  const count = answers.warmUp + answers.perSecond * answers.seconds
  const posts: Promise<boolean>[] = []
  let before = readCpu(service)
  const began = performance.now()
  for (let i = 0; i < count; i++) {
    await sleep(Math.max(0, began + (i * 1000) / answers.perSecond - performance.now()))
    if (i === answers.warmUp) before = readCpu(service)
    wroteAt.set(phoneOf(i), Date.now())
    posts.push(postOnce(subject, writtenBy(connection, [i], 'What are your opening hours?')))
  }
  if (!(await Promise.all(posts)).every(Boolean)) throw new Error('a callback was not taken')
  const sentAt = await untilSent(simulatorUrl, service.workspaceId, count)
  const cpu = cpuPer(before, readCpu(service), count - answers.warmUp)
  const waits = [...wroteAt].slice(answers.warmUp).map(([phone, at]) => (sentAt.get(phone) ?? Infinity) - at)
  await parley.automations.pause(id)
  const what = `from a callback to the accepted answer of an automation, ${answers.perSecond} messages/s`
  const note = `of ${waits.length}; ${Math.round(cpu.node)} µs of Node and ${Math.round(cpu.database)} µs of PostgreSQL each, with the reports`
  return [
    { what: `${what}, p50`, value: at(waits, 0.5), unit: 'ms', goal: { below: 150 }, note },
    { what: `${what}, p99`, value: at(waits, 0.99), unit: 'ms', goal: { below: 500 } },
  ]
}

const at = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? 0

/** When the channel accepted the first message to each phone, once `count` have one. */
async function untilSent(simulatorUrl: string, workspaceId: string, count: number): Promise<Map<string, number>> {
  for (;;) {
    const answer = await fetch(`${simulatorUrl}/control/sent?workspace_id=${workspaceId}`)
    const { data } = (await answer.json()) as { data: { to: string; at: string }[] }
    if (data.length >= count)
      return new Map(data.map(({ to, at: time }) => [`+${to.replace('+', '')}`, Date.parse(time)]))
    await sleep(500)
  }
}
