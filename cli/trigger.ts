/**
 * `parley trigger`: causes a real event.
 *
 * The command makes a simulated customer write, sends a template or creates a contact, so the event has all its usual
 * consequences. Phone numbers are from the range reserved for fiction (555-01xx).
 */
import { randomInt } from 'node:crypto'
import type { Parley, WebhookEvent } from '../sdk/src/index.ts'
import { callSimulator } from './api.ts'
import type { Output } from './output.ts'
import { CommandError, type SimulatorTarget } from './target.ts'

type TriggerOptions = {
  event: string | undefined
  simulator: SimulatorTarget
  from?: string | undefined
  to?: string | undefined
  text?: string | undefined
}

type Trigger = (parley: Parley, options: TriggerOptions) => Promise<{ result: object; message: string }>

const demoNumber = '+14155550100'

const triggers: Record<WebhookEvent['event'], Trigger> = {
  'message.received': (parley, options) => writeAsCustomer(parley, options, options.from ?? demoNumber),
  'conversation.created': (parley, options) => writeAsCustomer(parley, options, options.from ?? fictionalNumber()),
  async 'message.status_updated'(parley, { to = demoNumber, simulator }) {
    await requireSimulated(parley, simulator)
    const template = { name: 'hello_world' }
    const sent = await parley.messages.send({ to, type: 'template', template })
    return { result: sent, message: `Sent message ${sent.message_id} to ${to}. Its status events follow.` }
  },
  async 'contact.created'(parley, { from = fictionalNumber() }) {
    const contact = await parley.contacts.create({ phone: from })
    return { result: contact, message: `Created contact ${contact.id} with the number ${from}.` }
  },
}

export async function trigger(parley: Parley, output: Output, options: TriggerOptions): Promise<void> {
  const run = Object.entries(triggers).find(([name]) => name === options.event)?.[1]
  if (!run) {
    throw new CommandError('bad_option', `The event must be one of ${Object.keys(triggers).join(', ')}.`)
  }
  const { result, message } = await run(parley, options)
  output.print(result, [message])
}

/** Sends a message as a simulated customer. Returns after the service accepted it. */
async function writeAsCustomer(parley: Parley, { simulator, text = 'Hello!' }: TriggerOptions, from: string) {
  const { account } = await parley.me()
  const message = { workspace_id: account.id, channel: 'msgapp', from, text }
  const result = (await callSimulator(simulator, 'inbound', message)) as { message_id: string }
  return { result: { ...result, from }, message: `${from} sent message ${result.message_id}.` }
}

/** Without the simulator, the command would message a real person. */
async function requireSimulated(parley: Parley, simulator: SimulatorTarget): Promise<void> {
  const { account } = await parley.me()
  const accounts = (await callSimulator(simulator, 'accounts')) as { workspace_id: string }[]
  if (!accounts.some(({ workspace_id }) => workspace_id === account.id)) {
    throw new CommandError('not_simulated', `${account.name} is not connected to the simulator at ${simulator.url}.`)
  }
}

/** One of 72,000 numbers, so most likely a new contact. */
function fictionalNumber(): string {
  const area = `${randomInt(2, 10)}${randomInt(0, 9)}${randomInt(0, 10)}`
  return `+1${area}55501${String(randomInt(0, 100)).padStart(2, '0')}`
}
