/**
 * A support bot on all channels: it answers buttons and free text, and hands over to a person.
 *
 * It never misses a message: it reads the conversations that changed since its stored position, also those that changed while it
 * did not run. The event stream only wakes it. It never answers twice: each answer has an `Idempotency-Key` with the id of the
 * message, and the journal has the last message it answered in each conversation.
 *
 * A conversation with the label "With a person" or with an assigned member belongs to that member. The bot is silent there until
 * a member closes a conversation that the bot handed over. It must see this: if it does not run when the customer writes again
 * after that, the conversation stays with the member.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
// In your own project: from 'parley-sdk'
import { type Conversation, type Message, type NewReply, Parley, ParleyError } from '../../sdk/src/index.ts'

const handedOver = 'With a person'
const pollMs = 15_000
const orderNumber = /\b[A-Z]-\d{1,9}\b/i

const [folder = 'support-bot-data'] = process.argv.slice(2)
mkdirSync(folder, { recursive: true })
const journalFile = join(folder, 'journal.jsonl')
const parley = new Parley({
  apiKey: process.env.PARLEY_API_KEY,
  baseUrl: process.env.PARLEY_URL ?? 'http://127.0.0.1:4000/v1',
  maxRetries: 8,
})

type Position = { updated_after: string; cursor?: string | undefined }
type Entry = { started_at: string } | { position: Position } | { conversation_id: string; answered_id: string }

/** The first start: earlier messages are not answered. */
let startedAt = new Date().toISOString()
let position: Position = { updated_after: startedAt }
/** The last message that was answered, by conversation. */
const answered = new Map<string, string>()
const isResumed = existsSync(journalFile)
for (const line of isResumed ? readFileSync(journalFile, 'utf8').split('\n') : []) applyLine(line)
if (isResumed) appendFileSync(journalFile, '\n')
else write({ started_at: startedAt })
console.log(`${isResumed ? 'continues' : 'starts'} at ${position.updated_after}`)

let wake = () => {}
void listen()
for (;;) {
  const woken = new Promise<void>((resolve) => {
    wake = resolve
    setTimeout(resolve, pollMs)
  })
  await answerChanges().catch((error) => console.error(`interrupted: ${describe(error)}`))
  await woken
}

/** Wakes the loop at once when a customer writes. Without the stream the loop still polls. */
async function listen(): Promise<void> {
  const options = { onReady: () => wake(), onReturn: () => wake() }
  try {
    for await (const _event of parley.events.stream({ events: ['message.received'] }, options)) wake()
  } catch (error) {
    console.error(`no event stream, polling only: ${describe(error)}`)
  }
}

async function answerChanges(): Promise<void> {
  for await (const page of parley.conversations.changes(position)) {
    for (const conversation of page.data) await answerConversation(conversation)
    position = page.position
    if (page.data.length > 0) write({ position })
  }
}

async function answerConversation(conversation: Conversation): Promise<void> {
  const labels = conversation.labels.map(({ name }) => name)
  if (labels.includes(handedOver) || conversation.assigned_agent_id !== null) {
    // The member answers. What the customer wrote meanwhile is not for the bot.
    for (const { id } of await listNew(conversation.id)) write({ conversation_id: conversation.id, answered_id: id })
    if (conversation.status === 'closed' && labels.includes(handedOver)) await takeBack(conversation, labels)
    return
  }
  for (const message of await listNew(conversation.id)) {
    const isDone = await answer(conversation, labels, message).catch((error) =>
      refuse(conversation, labels, message, error),
    )
    write({ conversation_id: conversation.id, answered_id: message.id })
    if (isDone) return
  }
}

/** The customer's messages that are not answered yet, oldest first. */
async function listNew(conversationId: string): Promise<Message[]> {
  const found: Message[] = []
  const last = answered.get(conversationId) ?? ''
  for await (const message of parley.conversations.listMessages(conversationId)) {
    if (message.id <= last || message.created_at <= startedAt) break
    if (message.direction === 'inbound') found.unshift(message)
  }
  return found
}

/** Returns true when a person takes over. */
async function answer(conversation: Conversation, labels: string[], message: Message): Promise<boolean> {
  const { content_type: type, content_text: text, interactive_reply_id: choice } = message
  const send = (reply: NewReply) => sendReply(conversation, message, reply)
  const order = orderNumber.exec(text ?? '')?.[0].toUpperCase()
  if (type === 'reaction' || message.deleted_at) return false
  if (choice === 'human' || /\b(human|person|agent|someone)\b/i.test(text ?? '')) {
    await handOver(conversation, labels, message, 'The customer asked for a person.')
    return true
  }
  if (['image', 'video', 'audio', 'document'].includes(type)) {
    await handOver(conversation, labels, message, `The customer sent a file (${type}).`)
    return true
  }
  if (choice === 'hours' || /\b(hours|open|close)\b/i.test(text ?? '')) {
    await send({ text: 'We are open Monday to Friday, 9:00 to 18:00.' })
  } else if (order) {
    const url = `https://shop.example/orders/${order}`
    await send({
      type: 'interactive',
      interactive: { kind: 'link', body: `Your order ${order} is on its way.`, text: 'Track it', url },
    })
  } else if (choice === 'order') {
    await send({ text: 'Please send me your order number, such as A-1009.' })
  } else {
    const buttons = [
      { id: 'order', title: 'Where is my order?' },
      { id: 'hours', title: 'Opening hours' },
      { id: 'human', title: 'Talk to a person' },
    ]
    await send({ type: 'interactive', interactive: { kind: 'buttons', body: 'How can I help you?', buttons } })
  }
  return false
}

/** Sends an answer once: the key is the message it answers. */
async function sendReply({ id, channel }: Conversation, message: Message, reply: NewReply): Promise<void> {
  const sent = await parley.conversations.reply(id, reply, { idempotencyKey: `answer ${message.id}` })
  console.log(`${channel}: ${JSON.stringify(message.content_text)} -> ${JSON.stringify(sent.content_text)}`)
}

/** Assigns the conversation to a member, preferably one who is online, and explains why in a note. */
async function handOver(conversation: Conversation, labels: string[], message: Message, reason: string): Promise<void> {
  const { id } = conversation
  const members = (await parley.members.list()).data.filter(({ role }) => role !== 'viewer')
  const member = members.find(({ is_online }) => is_online) ?? members[0]
  const assignee = conversation.assigned_agent_id ?? member?.id ?? null
  await sendReply(conversation, message, { text: 'A colleague of mine will answer you here.' })
  await parley.conversations.createNote(id, { text: `Bot: ${reason}` }, { idempotencyKey: `note ${message.id}` })
  await parley.conversations.update(id, { assigned_agent_id: assignee, labels: [...labels, handedOver] })
  console.log(`${conversation.channel}: handed over to ${member?.email ?? 'the team'}: ${reason}`)
}

/** A member closed the conversation: the bot answers the customer's next message. */
async function takeBack({ id, channel }: Conversation, labels: readonly string[]): Promise<void> {
  await parley.conversations.update(id, {
    assigned_agent_id: null,
    labels: labels.filter((name) => name !== handedOver),
  })
  console.log(`${channel}: closed by a member, the bot answers again`)
}

/** An answer that cannot be sent is left to a person. Any other error stops the round, which is repeated. */
async function refuse(
  { id, channel }: Conversation,
  labels: readonly string[],
  message: Message,
  error: unknown,
): Promise<boolean> {
  const isFinal = error instanceof ParleyError && ['bad_request', 'platform_error', 'not_found'].includes(error.code)
  if (!isFinal) throw error
  console.error(`${channel}: ${describe(error)}`)
  // It may have been sent, or the contact was erased.
  if (error.details?.outcome === 'unknown' || error.code === 'not_found') return false
  const text = `Bot: the answer could not be sent (${error.message}).`
  await parley.conversations.createNote(id, { text }, { idempotencyKey: `note ${message.id}` })
  await parley.conversations.update(id, { labels: [...labels, handedOver] })
  return true
}

/** Appends to the journal and applies the entry. A line that a crash cut off is ignored at the next start. */
function write(entry: Entry): void {
  appendFileSync(journalFile, `${JSON.stringify(entry)}\n`)
  apply(entry)
}

function applyLine(line: string): void {
  try {
    apply(JSON.parse(line))
  } catch {
    // The last line of a killed run.
  }
}

function apply(entry: Entry): void {
  if ('answered_id' in entry) answered.set(entry.conversation_id, entry.answered_id)
  else if ('position' in entry) position = entry.position
  else {
    startedAt = entry.started_at
    position = { updated_after: startedAt }
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
