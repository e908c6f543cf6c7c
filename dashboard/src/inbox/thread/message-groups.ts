/**
 * Groups the messages and timeline entries of a thread for display: by day, then by sender and time. Reactions are attached to the
 * message they belong to. Pure functions.
 */
import { isSameDay } from '../../lib/time.ts'
import { words } from '../../words/words.ts'
import type { Entry, Message } from '../model/data.ts'

/** Messages of one sender, or one entry of the timeline. */
type ThreadGroup = MessageGroup | { key: string; entry: Entry }
export type MessageGroup = { key: string; side: 'in' | 'out' | 'bot'; sender: string; messages: Message[] }
export type Day = { key: string; at: string; groups: ThreadGroup[] }
export type Reactions = ReadonlyMap<string, readonly { side: Message['direction']; emoji: string }[]>

/** Messages of one sender within this time form one group. */
const groupGapMs = 5 * 60_000

/** A change that its member takes back within this time leaves no line in the thread. The audit log has both. */
const undoneMs = 60_000

/** Both lists: oldest first. `memberId`: the signed-in member, whose messages are labeled "You". */
export function groupThread(messages: readonly Message[], entries: readonly Entry[], memberId: string): Day[] {
  const days: Day[] = []
  let last: Message | Entry | undefined
  for (const item of withoutUndone(mergeById(messages, entries))) {
    if (isMessage(item) && isAttachedReaction(item)) continue
    const at = new Date(item.created_at)
    const isNewDay = !last || !isSameDay(new Date(last.created_at), at)
    if (isNewDay) days.push({ key: dayKey(at, days), at: item.created_at, groups: [] })
    const groups = days.at(-1)?.groups
    const group = groups?.at(-1)
    if (!isMessage(item)) groups?.push({ key: item.id, entry: item })
    else if (group && 'messages' in group && last && isMessage(last) && isSameGroup(last, item))
      group.messages.push(item)
    else {
      groups?.push({ key: item.id, side: sideOf(item), sender: senderOf(item, memberId), messages: [item] })
    }
    last = item
  }
  return days
}

/** Ids of messages and entries grow with time. Unsent messages have no id of the service: they stay at the end. */
function mergeById(messages: readonly Message[], entries: readonly Entry[]): (Message | Entry)[] {
  const merged: (Message | Entry)[] = []
  let next = 0
  for (const message of messages) {
    for (let entry = entries[next]; entry && entry.id < message.id; entry = entries[++next]) merged.push(entry)
    merged.push(message)
  }
  return [...merged, ...entries.slice(next)]
}

/** Without each change after which the same member restored what was before it, with nothing in between. */
function withoutUndone(items: readonly (Message | Entry)[]): (Message | Entry)[] {
  const kept: (Message | Entry)[] = []
  for (const item of items) {
    const last = kept.at(-1)
    const isUndo = last && !isMessage(last) && !isMessage(item) && isUndoOf(item, last, kept.slice(0, -1))
    if (isUndo) kept.pop()
    else kept.push(item)
  }
  return kept
}

function isUndoOf(entry: Entry, last: Entry, earlier: readonly (Message | Entry)[]): boolean {
  const isAtOnce = Date.parse(entry.created_at) - Date.parse(last.created_at) < undoneMs
  if (!isAtOnce || !entry.member || entry.member.id !== last.member?.id) return false
  if (entry.kind === 'labeled' && last.kind === 'labeled') {
    const [one, other] = [entry.details, last.details]
    return String(one.added) === String(other.removed) && String(one.removed) === String(other.added)
  }
  const state = stateAfter(entry)
  if (!state || stateAfter(last)?.field !== state.field) return false
  const before = earlier.findLast((item) => !isMessage(item) && stateAfter(item)?.field === state.field)
  return state.value === ((before && !isMessage(before) && stateAfter(before)?.value) || initialStates[state.field])
}

/** Of a conversation without any entry of the field. */
const initialStates = { status: 'open', assignee: 'nobody', team: 'nobody' }

function stateAfter({ kind, details }: Entry): { field: keyof typeof initialStates; value: string } | undefined {
  const { status, until, assignee, team } = details
  if (kind === 'assigned' && team !== undefined) return { field: 'team', value: team?.id ?? initialStates.team }
  if (kind === 'assigned') return { field: 'assignee', value: assignee?.id ?? initialStates.assignee }
  if (kind === 'snoozed' && until) return { field: 'status', value: `pending until ${until}` }
  if (kind === 'blocked' && status) return { field: 'status', value: 'closed' }
  return kind === 'status' && status ? { field: 'status', value: status } : undefined
}

const isMessage = (item: Message | Entry): item is Message => 'direction' in item

/** The date. A date can occur twice when sender clocks disagree; repeats get a number. */
function dayKey(at: Date, days: readonly Day[]): string {
  const date = at.toDateString()
  const repeats = days.filter(({ key }) => key.startsWith(date)).length
  return repeats > 0 ? `${date} ${repeats}` : date
}

/** The latest reaction of each side, by message id. A reaction replaces the previous one; one without emoji removes it. */
export function reactionsOf(messages: readonly Message[]): Reactions {
  const found = new Map<string, Map<Message['direction'], string>>()
  for (const message of messages) {
    if (!isAttachedReaction(message) || message.status === 'failed') continue
    const target = message.reply_to_message_id ?? ''
    const sides = found.get(target) ?? new Map<Message['direction'], string>()
    if (message.content_text) sides.set(message.direction, message.content_text)
    else sides.delete(message.direction)
    found.set(target, sides)
  }
  return new Map([...found].map(([id, sides]) => [id, Array.from(sides, ([side, emoji]) => ({ side, emoji }))]))
}

/** False for a reaction to an unknown message: it is shown as a message of its own. */
const isAttachedReaction = ({ content_type, reply_to_message_id: target, content_text }: Message): boolean =>
  content_type === 'reaction' && (target !== null || !content_text)

function isSameGroup(one: Message, other: Message): boolean {
  return (
    one.direction === other.direction &&
    one.sender_type === other.sender_type &&
    one.sender_id === other.sender_id &&
    one.run_id === other.run_id &&
    Date.parse(other.created_at) - Date.parse(one.created_at) < groupGapMs
  )
}

const sideOf = ({ direction, sender_type }: Message): MessageGroup['side'] =>
  direction === 'inbound' ? 'in' : sender_type === 'bot' ? 'bot' : 'out'

function senderOf({ direction, sender, sender_type, broadcast_id }: Message, memberId: string): string {
  const { you, api, broadcast } = words.inbox.message
  if (direction === 'inbound') return ''
  if (sender) return sender.id === memberId ? you : sender.name
  if (sender_type !== 'bot') return api
  return broadcast_id === null ? words.inbox.bot.sender : broadcast
}
