/**
 * A shop that sends order updates and learns what happened to each.
 *
 * The shop appends its updates to `orders.jsonl`, one JSON object per line. This program sends each of them once and writes
 * what it learns to `journal.jsonl`: the message of each update, its outcomes, and the position in the event stream. After a
 * crash it reads the journal and continues. An update whose send was interrupted is sent again under the same
 * `Idempotency-Key`, so the customer gets one message. An update that did not reach the channel is sent again under a new key,
 * because the old key would return the stored error.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
// In your own project: from 'parley-sdk'
import { Parley, ParleyError, type WebhookEvent } from '../../sdk/src/index.ts'

type Update = { order: string; phone: string; name: string; status: string }
type Outcome = 'pending' | 'sent' | 'failed' | 'delivered' | 'read'
type Entry =
  | { kind: 'message' | 'unsent'; update: string; message_id: string }
  | { kind: 'outcome'; update: string; outcome: Outcome; reason?: string | undefined }
  | { kind: 'event'; id: string; last_event_id: string }

/** A later report may be older: an outcome only moves to the right. */
const ranks: Outcome[] = ['pending', 'sent', 'failed', 'delivered', 'read']
const pollMs = 1_000

const folder = process.argv[2] ?? 'shop-data'
const ordersFile = join(folder, 'orders.jsonl')
const journalFile = join(folder, 'journal.jsonl')
mkdirSync(folder, { recursive: true })

const parley = new Parley({
  apiKey: process.env.PARLEY_API_KEY,
  baseUrl: process.env.PARLEY_URL ?? 'http://127.0.0.1:4000/v1',
  maxRetries: 8,
})

/** What the journal says, by update (`A-1 shipped`) and by message. */
const messageIds = new Map<string, string>()
const updateIds = new Map<string, string>()
const outcomes = new Map<string, Outcome>()
/** The last message of an update that did not reach the channel. */
const unsentIds = new Map<string, string>()
/** The stream repeats the last two minutes after a restart. */
const seenEvents = new Set<string>()
let lastEventId: string | undefined

const keyOf = ({ order, status }: Update): string => `${order} ${status}`

for (const entry of readLines<Entry>(journalFile)) apply(entry)
console.log(`following ${ordersFile}: ${messageIds.size} updates were sent earlier`)
await Promise.all([followEvents(), sendUpdates()])

/** Sends updates as they are appended, in order. */
async function sendUpdates(): Promise<never> {
  for (;;) {
    for (const update of readLines<Update>(ordersFile)) {
      const key = keyOf(update)
      if (!messageIds.has(key) && outcomes.get(key) !== 'failed') await send(update)
    }
    await sleep(pollMs)
  }
}

async function send(update: Update): Promise<void> {
  const key = keyOf(update)
  const unsentId = unsentIds.get(key)
  try {
    const { message_id } = await parley.messages.send(
      {
        to: update.phone,
        name: update.name,
        type: 'template',
        template: { name: 'order_confirmed', params: [update.name, `${update.order} (${update.status})`] },
      },
      { idempotencyKey: `order update ${key}${unsentId ? ` after ${unsentId}` : ''}` },
    )
    record({ kind: 'message', update: key, message_id })
    learn(key, 'sent')
    // A report may have arrived before the response. Events do not repeat it.
    await readOutcome(key, message_id)
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error
    const { outcome, message_id } = error.details ?? {}
    if (outcome === 'unknown' && message_id) {
      // The channel did not answer. Sending again could reach the customer twice; a report settles the message.
      record({ kind: 'message', update: key, message_id })
      learn(key, 'pending', error.message)
    } else if (outcome === 'rejected' || isRefusal(error)) {
      learn(key, 'failed', error.message)
    } else {
      if (outcome === 'unsent' && message_id) record({ kind: 'unsent', update: key, message_id })
      console.log(`${key}: not sent, trying again: ${error.message}`)
    }
  }
}

/** The request itself is wrong, for example its number. A quota or a rate limit passes. */
function isRefusal({ status }: ParleyError): boolean {
  return status >= 400 && status < 500 && ![402, 429].includes(status)
}

/** Follows the events, from the last one of the earlier run on. */
async function followEvents(): Promise<void> {
  const stream = parley.events.stream(
    { events: ['message.status_updated', 'message.received'] },
    {
      lastEventId,
      // Events of a long absence are lost, so the messages themselves are read.
      onReady: () => void readOutcomes(),
      onReturn: (awayMs) => {
        if (awayMs > 60_000) void readOutcomes()
      },
    },
  )
  for await (const frame of stream.frames()) {
    if (!seenEvents.has(frame.event.id)) handle(frame.event)
    record({ kind: 'event', id: frame.event.id, last_event_id: frame.lastEventId })
  }
}

function handle(event: WebhookEvent): void {
  if (event.event === 'message.status_updated') {
    const { message, status } = event.data
    const update = updateIds.get(message.id)
    if (update) learn(update, status, message.error?.message)
  } else if (event.event === 'message.received') {
    const { contact, text, content_type } = event.data
    const orders = readLines<Update>(ordersFile).filter(({ phone }) => phone === contact.phone)
    const about = orders.at(-1)?.order ?? 'no order'
    console.log(`reply from ${contact.name ?? contact.phone} (${about}): ${text ?? content_type}`)
  }
}

/** Reads the messages that have no final outcome yet. What cannot be read now is read after the next reconnect. */
async function readOutcomes(): Promise<void> {
  try {
    for (const [update, messageId] of messageIds) {
      if (outcomes.get(update) !== 'read') await readOutcome(update, messageId)
    }
  } catch (error) {
    console.error(`outcomes could not be read: ${error}`)
  }
}

async function readOutcome(update: string, messageId: string): Promise<void> {
  const { status, error } = await parley.messages.get(messageId)
  if (status !== 'received') learn(update, status, error?.message)
}

/** Records and prints an outcome that is news. */
function learn(update: string, outcome: Outcome, reason?: string): void {
  const known = outcomes.get(update)
  if (known !== undefined && ranks.indexOf(outcome) <= ranks.indexOf(known)) return
  record({ kind: 'outcome', update, outcome, reason })
  console.log(`${update}: ${outcome}${reason ? ` (${reason})` : ''}`)
}

function record(entry: Entry): void {
  appendFileSync(journalFile, `${JSON.stringify(entry)}\n`)
  apply(entry)
}

function apply(entry: Entry): void {
  if (entry.kind === 'event') {
    seenEvents.add(entry.id)
    lastEventId = entry.last_event_id
  } else if (entry.kind === 'outcome') outcomes.set(entry.update, entry.outcome)
  else if (entry.kind === 'unsent') unsentIds.set(entry.update, entry.message_id)
  else {
    messageIds.set(entry.update, entry.message_id)
    updateIds.set(entry.message_id, entry.update)
  }
}

/** The lines of a file. The last one may be incomplete: its writer was interrupted or is still writing. */
function readLines<Line>(file: string): Line[] {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  return text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .flatMap((line) => {
      try {
        return line ? [JSON.parse(line) as Line] : []
      } catch {
        return []
      }
    })
}
