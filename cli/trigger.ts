/**
 * `parley trigger`: cause an event by causing what it tells of.
 *
 * Nothing is made up: a customer of the simulator writes, a template is sent, a
 * contact is made. So the event is a real one, and whatever else follows from
 * it follows too. The numbers are of those that are kept for fiction (555-01xx).
 */
import { randomInt } from 'node:crypto'
import type { Parley } from '../sdk/src/index.ts'
import { type EventName, eventNames } from '../server/webhooks/emit.ts'
import { control } from './api.ts'
import type { Output } from './output.ts'
import { Failure, type SimulatorTarget } from './target.ts'

export type Triggering = {
  event: string | undefined
  simulator: SimulatorTarget
  from?: string | undefined
  to?: string | undefined
  text?: string | undefined
}

type Cause = (parley: Parley, triggering: Triggering) => Promise<{ answer: object; words: string }>

const knownNumber = '+14155550100'

const causes: Record<EventName, Cause> = {
  'message.received': (parley, triggering) => write(parley, triggering, triggering.from ?? knownNumber),
  'conversation.created': (parley, triggering) => write(parley, triggering, triggering.from ?? fictionalNumber()),
  async 'message.status_updated'(parley, { to = knownNumber, simulator }) {
    await requireSimulated(parley, simulator)
    const template = { name: 'hello_world' }
    const sent = await parley.messages.send({ to, type: 'template', template })
    return { answer: sent, words: `message ${sent.message_id} was sent to ${to}; its statuses follow` }
  },
  async 'contact.created'(parley, { from = fictionalNumber() }) {
    const made = await parley.contacts.create({ phone: from })
    return { answer: made, words: `contact ${made.id} has the number ${from}` }
  },
}

export async function trigger(parley: Parley, output: Output, triggering: Triggering): Promise<void> {
  const name = eventNames.find((known) => known === triggering.event)
  if (!name) {
    throw new Failure('bad_option', `which event? There are ${eventNames.join(', ')}`)
  }
  const { answer, words } = await causes[name](parley, triggering)
  output.print(answer, [words])
}

/** A customer writes; answered once the service took it. */
async function write(parley: Parley, { simulator, text = 'Hello!' }: Triggering, from: string) {
  const { account } = await parley.me()
  const written = { workspace_id: account.id, channel: 'msgapp', from, text }
  const answer = (await control(simulator, 'inbound', written)) as { message_id: string }
  return { answer: { ...answer, from }, words: `${from} wrote: ${answer.message_id}` }
}

/** A real channel would send to a real person. */
async function requireSimulated(parley: Parley, simulator: SimulatorTarget): Promise<void> {
  const { account } = await parley.me()
  const accounts = (await control(simulator, 'accounts')) as { workspace_id: string }[]
  if (!accounts.some(({ workspace_id }) => workspace_id === account.id)) {
    throw new Failure('not_simulated', `${account.name} is not connected to the simulator at ${simulator.url}`)
  }
}

/** One of 72,000, so most likely somebody new. */
function fictionalNumber(): string {
  const area = `${randomInt(2, 10)}${randomInt(0, 9)}${randomInt(0, 10)}`
  return `+1${area}55501${String(randomInt(0, 100)).padStart(2, '0')}`
}
