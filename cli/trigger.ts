/**
 * `parley trigger`: cause an event by causing what it tells of.
 *
 * Nothing is made up: a customer of the simulator writes, a template is sent, a
 * contact is made. So the event is a real one, and whatever else follows from
 * it follows too. The numbers are of those that are kept for fiction (555-01xx).
 */
import { randomInt } from 'node:crypto'
import { type EventName, eventNames } from '../server/webhooks/emit.ts'
import { type Api, control, type Me } from './api.ts'
import type { Output } from './output.ts'
import type { Sent } from './send.ts'
import { Failure } from './target.ts'

export type Triggering = {
  event: string | undefined
  simulatorUrl: string
  from?: string | undefined
  to?: string | undefined
  text?: string | undefined
}

type Cause = (api: Api, triggering: Triggering) => Promise<{ answer: object; words: string }>

const knownNumber = '+14155550100'

const causes: Record<EventName, Cause> = {
  'message.received': (api, triggering) => write(api, triggering, triggering.from ?? knownNumber),
  'conversation.created': (api, triggering) => write(api, triggering, triggering.from ?? fictionalNumber()),
  async 'message.status_updated'(api, { to = knownNumber, simulatorUrl }) {
    await requireSimulated(api, simulatorUrl)
    const template = { name: 'hello_world' }
    const sent = await api.call<Sent>('POST', '/messages', { to, type: 'template', template })
    return { answer: sent, words: `message ${sent.message_id} was sent to ${to}; its statuses follow` }
  },
  async 'contact.created'(api, { from = fictionalNumber() }) {
    const made = await api.call<{ id: string }>('POST', '/contacts', { phone: from })
    return { answer: made, words: `contact ${made.id} has the number ${from}` }
  },
}

export async function trigger(api: Api, output: Output, triggering: Triggering): Promise<void> {
  const name = eventNames.find((known) => known === triggering.event)
  if (!name) {
    throw new Failure('bad_option', `which event? There are ${eventNames.join(', ')}`)
  }
  const { answer, words } = await causes[name](api, triggering)
  output.print(answer, [words])
}

/** A customer writes; answered once the service took it. */
async function write(api: Api, { simulatorUrl, text = 'Hello!' }: Triggering, from: string) {
  const { account } = await api.call<Me>('GET', '/me')
  const written = { workspace_id: account.id, channel: 'msgapp', from, text }
  const answer = (await control(simulatorUrl, 'inbound', written)) as { message_id: string }
  return { answer: { ...answer, from }, words: `${from} wrote: ${answer.message_id}` }
}

/** A real channel would send to a real person. */
async function requireSimulated(api: Api, simulatorUrl: string): Promise<void> {
  const { account } = await api.call<Me>('GET', '/me')
  const accounts = (await control(simulatorUrl, 'accounts')) as { workspace_id: string }[]
  if (!accounts.some(({ workspace_id }) => workspace_id === account.id)) {
    throw new Failure('not_simulated', `${account.name} is not connected to the simulator at ${simulatorUrl}`)
  }
}

/** One of 72,000, so most likely somebody new. */
function fictionalNumber(): string {
  const area = `${randomInt(2, 10)}${randomInt(0, 9)}${randomInt(0, 10)}`
  return `+1${area}55501${String(randomInt(0, 100)).padStart(2, '0')}`
}
