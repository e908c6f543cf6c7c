/**
 * A thread as it is read: days, and in them runs of messages by the same
 * sender within a few minutes. Reactions go to the message they belong to.
 * Pure.
 */
import { isSameDay } from '../lib/time.ts'
import { words } from '../words/words.ts'
import type { Message } from './data.ts'

export type Run = { key: string; side: 'in' | 'out' | 'bot'; sender: string; messages: Message[] }
export type Day = { key: string; at: string; runs: Run[] }
export type Reactions = ReadonlyMap<string, readonly { side: Message['direction']; emoji: string }[]>

const togetherMs = 5 * 60_000

/** `messages` oldest first; `me`: the member who looks. */
export function arrange(messages: readonly Message[], me: string): Day[] {
  const days: Day[] = []
  let last: Message | undefined
  for (const message of messages) {
    if (isOnBubble(message)) continue
    const at = new Date(message.created_at)
    const isNewDay = !last || !isSameDay(new Date(last.created_at), at)
    if (isNewDay) days.push({ key: keyOf(at, days), at: message.created_at, runs: [] })
    const isTogether = !isNewDay && last && isSameRun(last, message)
    const runs = days.at(-1)?.runs
    if (isTogether) runs?.at(-1)?.messages.push(message)
    else runs?.push({ key: message.id, side: sideOf(message), sender: senderOf(message, me), messages: [message] })
    last = message
  }
  return days
}

/** The date, so that a day stays itself whatever comes before it; clocks that disagree may show one twice. */
function keyOf(at: Date, days: readonly Day[]): string {
  const date = at.toDateString()
  const times = days.filter(({ key }) => key.startsWith(date)).length
  return times > 0 ? `${date} ${times}` : date
}

/** The latest of each side: one takes the place of the one before, and one without emoji takes it back. */
export function reactionsOf(messages: readonly Message[]): Reactions {
  const found = new Map<string, Map<Message['direction'], string>>()
  for (const message of messages) {
    if (!isOnBubble(message)) continue
    const target = message.reply_to_message_id ?? ''
    const sides = found.get(target) ?? new Map<Message['direction'], string>()
    if (message.content_text) sides.set(message.direction, message.content_text)
    else sides.delete(message.direction)
    found.set(target, sides)
  }
  return new Map([...found].map(([id, sides]) => [id, Array.from(sides, ([side, emoji]) => ({ side, emoji }))]))
}

/** One whose message is not known stands by itself. */
const isOnBubble = ({ content_type, reply_to_message_id: target, content_text }: Message): boolean =>
  content_type === 'reaction' && (target !== null || !content_text)

function isSameRun(one: Message, other: Message): boolean {
  return (
    one.direction === other.direction &&
    one.sender_type === other.sender_type &&
    one.sender_id === other.sender_id &&
    Date.parse(other.created_at) - Date.parse(one.created_at) < togetherMs
  )
}

const sideOf = ({ direction, sender_type }: Message): Run['side'] =>
  direction === 'inbound' ? 'in' : sender_type === 'bot' ? 'bot' : 'out'

function senderOf({ direction, sender, sender_type }: Message, me: string): string {
  const { you, api, broadcast } = words.inbox.message
  if (direction === 'inbound') return ''
  if (sender) return sender.id === me ? you : sender.name
  return sender_type === 'bot' ? broadcast : api
}
