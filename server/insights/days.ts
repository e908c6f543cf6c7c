/**
 * Counters per day and channel: messages, answers, and how long customers waited for an answer.
 *
 * A customer waits from the first unanswered message until the next message of an agent. A failed message is not an
 * answer, also when it fails later (`answers.ts`), and neither is a broadcast. A reaction does not need an answer. An answer
 * counts on the day it was sent. Only the digest writes these tables.
 */
import type { ChannelName } from '../contacts/resource.ts'
import { timeOfId } from '../lib/id.ts'
import type { Sql } from '../lib/postgres/db.ts'

export type CountableMessage = {
  workspace_id: string
  conversation_id: string
  id: string
  channel: ChannelName
  direction: 'inbound' | 'outbound'
  sender_type: 'customer' | 'agent' | 'bot'
  content_type: string
  status: string
}

export type Day = {
  workspace_id: string
  day: string
  channel: ChannelName
  inbound: number
  outbound: number
  answers: number
  answer_seconds: number
  within_five_minutes: number
  within_one_hour: number
  within_one_day: number
}

export type Wait = { workspace_id: string; conversation_id: string; since: number }
/** The message that ended a wait. */
export type Answer = Wait & { message_id: string }

/** Counts new messages. They must be in the order of their ids. */
export async function countMessages(sql: Sql, messages: readonly CountableMessage[]): Promise<void> {
  const before = await listWaits(sql, messages)
  const waits = new Map(before.map((wait) => [wait.conversation_id, wait]))
  const days = new Map<string, Day>()
  const answers: Answer[] = []
  for (const message of messages) {
    const { workspace_id, conversation_id, id, direction } = message
    const at = Date.parse(timeOfId(id))
    const day = dayOf(days, message)
    day[direction]++
    const wait = waits.get(conversation_id)
    if (direction === 'inbound' && message.content_type !== 'reaction') {
      waits.set(conversation_id, { workspace_id, conversation_id, since: Math.min(wait?.since ?? at, at) })
    }
    if (message.sender_type === 'agent' && message.status !== 'failed' && wait && wait.since <= at) {
      countAnswer(day, id, wait.since, 1)
      answers.push({ ...wait, message_id: id })
      waits.delete(conversation_id)
    }
  }
  await addDays(sql, [...days.values()])
  await setWaits(sql, before, waits)
  await setAnswers(sql, answers)
}

/** Counts message `id` as the answer to a wait that began at `since`. `n` = -1 reverts it. */
export function countAnswer(day: Day, id: string, since: number, n: 1 | -1): void {
  const seconds = Math.round((Date.parse(timeOfId(id)) - since) / 1000)
  day.answers += n
  day.answer_seconds += n * seconds
  day.within_five_minutes += n * Number(seconds <= 300)
  day.within_one_hour += n * Number(seconds <= 3_600)
  day.within_one_day += n * Number(seconds <= 86_400)
}

export function dayOf(days: Map<string, Day>, { workspace_id, channel, id }: CountableMessage): Day {
  const date = timeOfId(id).slice(0, 10)
  const key = `${workspace_id} ${date} ${channel}`
  const known = days.get(key)
  if (known) return known
  const within = { within_five_minutes: 0, within_one_hour: 0, within_one_day: 0 }
  const day = { workspace_id, day: date, channel, inbound: 0, outbound: 0, answers: 0, answer_seconds: 0, ...within }
  days.set(key, day)
  return day
}

export async function listWaits(sql: Sql, messages: readonly CountableMessage[]): Promise<Wait[]> {
  const conversations = new Map(messages.map(({ workspace_id, conversation_id }) => [conversation_id, workspace_id]))
  return sql<Wait[]>`
    select w.workspace_id, w.conversation_id, extract(epoch from w.since)::float8 * 1000 as since
    from unnest(${[...conversations.values()]}::uuid[], ${[...conversations.keys()]}::uuid[])
      as i (workspace_id, conversation_id)
    join message_waits w on w.workspace_id = i.workspace_id and w.conversation_id = i.conversation_id`
}

export async function addDays(sql: Sql, days: readonly Day[]): Promise<void> {
  await sql`
    insert into message_days as d (workspace_id, day, channel, inbound, outbound, answers, answer_seconds,
      within_five_minutes, within_one_hour, within_one_day)
    select workspace_id, day, channel, inbound, outbound, answers, answer_seconds, within_five_minutes, within_one_hour,
      within_one_day
    from json_to_recordset(${JSON.stringify(days)}::text::json) as i (
      workspace_id uuid, day date, channel text, inbound int, outbound int, answers int, answer_seconds bigint,
      within_five_minutes int, within_one_hour int, within_one_day int
    )
    on conflict (workspace_id, day, channel) do update set
      inbound = d.inbound + excluded.inbound, outbound = d.outbound + excluded.outbound,
      answers = d.answers + excluded.answers, answer_seconds = d.answer_seconds + excluded.answer_seconds,
      within_five_minutes = d.within_five_minutes + excluded.within_five_minutes,
      within_one_hour = d.within_one_hour + excluded.within_one_hour,
      within_one_day = d.within_one_day + excluded.within_one_day`
}

/** Writes the difference between two lists of waits. */
export async function setWaits(sql: Sql, before: readonly Wait[], after: Map<string, Wait>): Promise<void> {
  const ended = before.filter(({ conversation_id }) => !after.has(conversation_id))
  const known = new Map(before.map(({ conversation_id, since }) => [conversation_id, since]))
  const started = [...after.values()].filter(({ conversation_id, since }) => known.get(conversation_id) !== since)
  if (ended.length > 0) {
    await sql`
      delete from message_waits w
      using unnest(${ended.map(({ workspace_id }) => workspace_id)}::uuid[],
        ${ended.map(({ conversation_id }) => conversation_id)}::uuid[]) as i (workspace_id, conversation_id)
      where w.workspace_id = i.workspace_id and w.conversation_id = i.conversation_id`
  }
  if (started.length > 0) {
    await sql`
      insert into message_waits (workspace_id, conversation_id, since)
      select workspace_id, conversation_id, to_timestamp(since / 1000.0)
      from unnest(${started.map(({ workspace_id }) => workspace_id)}::uuid[],
        ${started.map(({ conversation_id }) => conversation_id)}::uuid[], ${started.map(({ since }) => since)}::float8[])
        as i (workspace_id, conversation_id, since)
      on conflict (workspace_id, conversation_id) do update set since = excluded.since`
  }
}

/** Stores the last answer of each conversation. */
export async function setAnswers(sql: Sql, answers: readonly Answer[]): Promise<void> {
  const last = new Map(answers.map((answer) => [answer.conversation_id, answer]))
  if (last.size === 0) return
  await sql`
    insert into message_answers (workspace_id, conversation_id, message_id, since)
    select workspace_id, conversation_id, message_id, to_timestamp(since / 1000.0)
    from json_to_recordset(${JSON.stringify([...last.values()])}::text::json)
      as i (workspace_id uuid, conversation_id uuid, message_id uuid, since float8)
    on conflict (workspace_id, conversation_id) do update set message_id = excluded.message_id, since = excluded.since`
}
