/**
 * Counters per quarter of an hour and connection: messages, answers, and how long customers waited for an answer. The days and hours of every
 * time zone begin with a quarter, so a read adds them up to those of the workspace.
 *
 * A customer waits from the first unanswered message until the next message of an agent. A failed message is not an
 * answer, also when it fails later (`answers.ts`), and neither is a broadcast. A reaction and a rating do not need an answer. An answer
 * counts when it was sent. Only the digest writes these tables, and nothing deletes from them: a row has at least one message, which is
 * larger.
 */
import type { ChannelName } from '../contacts/resource.ts'
import { timeOfId } from '../lib/id.ts'
import type { Fragment, Sql } from '../lib/postgres/db.ts'

export type CountableMessage = {
  workspace_id: string
  conversation_id: string
  id: string
  channel: ChannelName
  connection_id: string
  direction: 'inbound' | 'outbound'
  sender_type: 'customer' | 'agent' | 'bot'
  content_type: string
  status: string
  /** It answers the question about satisfaction. */
  is_rating_answer: boolean
}

/** The counters of a quarter of an hour, which begins `at`. */
export type Period = {
  workspace_id: string
  at: string
  channel: ChannelName
  connection_id: string
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
  const periods = new Map<string, Period>()
  const answers: Answer[] = []
  for (const message of messages) {
    const { workspace_id, conversation_id, id, direction } = message
    const at = Date.parse(timeOfId(id))
    const period = periodOf(periods, message)
    period[direction]++
    const wait = waits.get(conversation_id)
    if (direction === 'inbound' && message.content_type !== 'reaction' && !message.is_rating_answer) {
      waits.set(conversation_id, { workspace_id, conversation_id, since: Math.min(wait?.since ?? at, at) })
    }
    if (message.sender_type === 'agent' && message.status !== 'failed' && wait && wait.since <= at) {
      countAnswer(period, id, wait.since, 1)
      answers.push({ ...wait, message_id: id })
      waits.delete(conversation_id)
    }
  }
  await addPeriods(sql, [...periods.values()])
  await setWaits(sql, before, waits)
  await setAnswers(sql, answers)
}

/** Counts message `id` as the answer to a wait that began at `since`. `n` = -1 reverts it. */
export function countAnswer(period: Period, id: string, since: number, n: 1 | -1): void {
  const seconds = Math.round((Date.parse(timeOfId(id)) - since) / 1000)
  period.answers += n
  period.answer_seconds += n * seconds
  period.within_five_minutes += n * Number(seconds <= 300)
  period.within_one_hour += n * Number(seconds <= 3_600)
  period.within_one_day += n * Number(seconds <= 86_400)
}

const periodMs = 900_000

export function periodOf(periods: Map<string, Period>, message: CountableMessage): Period {
  const { workspace_id, channel, connection_id, id } = message
  const ms = Date.parse(timeOfId(id))
  const at = new Date(ms - (ms % periodMs)).toISOString()
  const key = `${workspace_id} ${at} ${connection_id}`
  const known = periods.get(key)
  if (known) return known
  const within = { within_five_minutes: 0, within_one_hour: 0, within_one_day: 0 }
  const counters = { inbound: 0, outbound: 0, answers: 0, answer_seconds: 0, ...within }
  const period = { workspace_id, at, channel, connection_id, ...counters }
  periods.set(key, period)
  return period
}

export async function listWaits(sql: Sql, messages: readonly CountableMessage[]): Promise<Wait[]> {
  const conversations = new Map(messages.map(({ workspace_id, conversation_id }) => [conversation_id, workspace_id]))
  return sql<Wait[]>`
    select w.workspace_id, w.conversation_id, extract(epoch from w.since)::float8 * 1000 as since
    from unnest(${[...conversations.values()]}::uuid[], ${[...conversations.keys()]}::uuid[])
      as i (workspace_id, conversation_id)
    join message_waits w on w.workspace_id = i.workspace_id and w.conversation_id = i.conversation_id`
}

export async function addPeriods(sql: Sql, periods: readonly Period[]): Promise<void> {
  await sql`
    insert into message_periods as p (workspace_id, at, channel, connection_id, inbound, outbound, answers, answer_seconds,
      within_five_minutes, within_one_hour, within_one_day)
    select workspace_id, at, channel, connection_id, inbound, outbound, answers, answer_seconds, within_five_minutes,
      within_one_hour, within_one_day
    from json_to_recordset(${JSON.stringify(periods)}::text::json) as i (
      workspace_id uuid, at timestamptz, channel text, connection_id uuid, inbound int, outbound int, answers int,
      answer_seconds bigint, within_five_minutes int, within_one_hour int, within_one_day int
    )
    on conflict (workspace_id, at, channel, connection_id) do update set
      inbound = p.inbound + excluded.inbound, outbound = p.outbound + excluded.outbound,
      answers = p.answers + excluded.answers, answer_seconds = p.answer_seconds + excluded.answer_seconds,
      within_five_minutes = p.within_five_minutes + excluded.within_five_minutes,
      within_one_hour = p.within_one_hour + excluded.within_one_hour,
      within_one_day = p.within_one_day + excluded.within_one_day`
}

/**
 * The counters of a workspace as a relation. Those of `message_days` are from release 0.1.0, which counted by day (UTC) and may still do so
 * during an upgrade. The time of day is not known, so they count at noon.
 */
export const countedPeriods = (sql: Sql, workspaceId: string): Fragment => sql`(
  select at, channel, inbound, outbound, answers, answer_seconds, within_five_minutes, within_one_hour, within_one_day
  from message_periods
  where workspace_id = ${workspaceId}
  union all
  select (day + time '12:00') at time zone 'utc', channel, inbound, outbound, answers, answer_seconds, within_five_minutes,
    within_one_hour, within_one_day
  from message_days
  where workspace_id = ${workspaceId}
)`

/** Those of one connection since a time. Release 0.1.0 did not count by connection: the caller begins after it. */
export const countedPeriodsOf = (
  sql: Sql,
  workspaceId: string,
  connectionId: string,
  since: string | null,
): Fragment => sql`(
  select at, channel, inbound, outbound, answers, answer_seconds, within_five_minutes, within_one_hour, within_one_day
  from message_periods
  where workspace_id = ${workspaceId} and connection_id = ${connectionId}
    and at >= coalesce(${since}::timestamptz, timestamptz '-infinity')
)`

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
