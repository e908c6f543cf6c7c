/**
 * Prepares the next recipients of a number's broadcasts for sending: one transaction per batch. `driver.ts` then calls the channel.
 *
 * The transaction locks the number's pace, chooses as many recipients as may leave now, checks each against its contact,
 * and writes the messages as `pending`. A process that dies before the commit has changed nothing. After the commit the
 * outcome is unknown and no process sends the message again: the channel's reports or the sweep settle it. So each
 * recipient gets the message at most once.
 *
 * Locks follow the lock order in ARCHITECTURE.md: the pace, the broadcasts, the conversations, the quota.
 */

import type { Times } from '../../common/times.ts'
import { moveQuota, releaseQuota } from '../accounts/quota.ts'
import type { Channel, Connection, OutgoingMessage, Person } from '../channels/channel.ts'
import type { PersonRef } from '../contacts/people.ts'
import { withoutScope } from '../contacts/scope.ts'
import { resolveThreads, type Thread } from '../conversations/threads.ts'
import { newId, timeOfId } from '../lib/id.ts'
import type { Db, Sql } from '../lib/postgres/db.ts'
import { type OutboundMessage, prepareReserved } from '../messages/sending/prepare.ts'
import { failUnsent } from '../messages/sending/settle.ts'
import type { MessageContent } from '../messages/sending/template.ts'
import { pauseWithReason } from './broadcasts.ts'
import {
  type ActiveBroadcast,
  chooseRecipients,
  type JudgedRecipient,
  judgeRecipients,
  lockActiveBroadcasts,
} from './choose.ts'
import { type Breaker, type BreakerPolicy, transition } from './circuit-breaker.ts'
import { addCounts } from './counts.ts'
import { lockPace, saveBreaker, spendAllowance, waitFor } from './pace.ts'

/** A recipient whose message is written and has to be sent now. */
export type HandedRecipient = {
  broadcast_id: string
  place: number
  /** The number of this attempt, from 1. */
  attempt: number
  contact_id: string
  conversation_id: string
  /** The contact's new name, to store when the channel accepts the message. */
  rename: { contact_id: string; name: string } | undefined
  outgoing: OutgoingMessage
  /** By the database's clock, in seconds. */
  handed_at: number
  /** The send is the circuit breaker's probe. */
  is_probe: boolean
}

export type HandOverResult =
  /** `waitMs`: the time until the next batch. `breaker`: the number's circuit breaker after this batch. */
  | { kind: 'handed'; recipients: HandedRecipient[]; waitMs: number; breaker: Breaker }
  /** The circuit breaker of the number is open, or its probe is in flight. */
  | { kind: 'held'; breaker: Breaker }
  /** Another process hands over for this number. */
  | { kind: 'busy' }
  /** No recipient is due. */
  | { kind: 'idle' }

export type HandOverContext = {
  connection: Connection
  channel: Channel
  /** The most recipients of the batch. */
  limit: number
  policy: BreakerPolicy
  times: Times['broadcasts']
}

/** A batch has the recipients that may leave within this time. Small, so that other users of the rows wait briefly. */
export const batchMs = 30
/** After a pause a batch may be a little larger. Not more: the batch of a process that dies has no known outcome. */
const maxBatchMs = 50

export function handOver(db: Db, context: HandOverContext): Promise<HandOverResult> {
  const { connection, limit } = context
  const { workspace_id: workspaceId } = connection
  return db.begin(async (sql): Promise<HandOverResult> => {
    const pace = await lockPace(sql, connection, context.times)
    if (!pace) return { kind: 'busy' }
    const breaker = transition(pace.breaker, { type: 'due' }, pace.at * 1000, context.policy)
    const isProbe = breaker.state === 'half_open' && pace.breaker.state === 'open'
    if (breaker.state !== 'closed' && !isProbe) {
      if (breaker !== pace.breaker) await saveBreaker(sql, connection, breaker)
      return { kind: 'held', breaker }
    }
    const allowed = Math.min(limit, Math.floor(pace.allowance), Math.ceil((pace.rate * maxBatchMs) / 1000))
    if (allowed < 1) return { kind: 'handed', recipients: [], waitMs: waitFor(pace, 0, batchMs), breaker: pace.breaker }
    const maxCount = isProbe ? 1 : allowed

    const broadcasts = await pauseUnapproved(sql, workspaceId, await lockActiveBroadcasts(sql, connection))
    if (broadcasts.length === 0) return { kind: 'idle' }
    const { chosen, ends } = await chooseRecipients(sql, connection, broadcasts, maxCount)
    const judged = judgeRecipients(context.channel, broadcasts, chosen)
    const prepared = await prepareRecipients(sql, connection, judged, { handed_at: pace.at, is_probe: isProbe })
    await moveRecipients(sql, workspaceId, broadcasts, prepared, ends)
    const recipients = prepared.flatMap(({ handed }) => handed ?? [])
    const count = recipients.length
    await spendAllowance(sql, connection, pace, count)
    // A skipped recipient cannot be the probe; the next one is.
    if (isProbe && count > 0) await saveBreaker(sql, connection, breaker)
    return {
      kind: 'handed',
      recipients,
      waitMs: waitFor(pace, count, batchMs),
      breaker: count > 0 ? breaker : pace.breaker,
    }
  }) as Promise<HandOverResult>
}

/** Pauses the broadcasts whose template cannot be sent now. Returns the others. */
async function pauseUnapproved(
  sql: Sql,
  workspaceId: string,
  broadcasts: readonly ActiveBroadcast[],
): Promise<ActiveBroadcast[]> {
  for (const { id, template, template_name: name, template_language: language } of broadcasts) {
    if (template?.status === 'APPROVED') continue
    await pauseWithReason(sql, workspaceId, id, `The template ${name} in ${language} is not approved.`)
  }
  return broadcasts.filter(({ template }) => template?.status === 'APPROVED')
}

type PreparedRecipient = JudgedRecipient & { handed: HandedRecipient | undefined }

/** Resolves contacts and conversations, and writes the messages. A retry has its message already. */
async function prepareRecipients(
  sql: Sql,
  { workspace_id, id: connection_id, scope }: Connection,
  judged: readonly JudgedRecipient[],
  batch: Pick<HandedRecipient, 'handed_at' | 'is_probe'>,
): Promise<PreparedRecipient[]> {
  const sending = judged.filter(({ message }) => message)
  const people: PersonRef[] = sending.map(({ given_name, is_known, ...one }) => ({
    workspace_id,
    channel: 'msgapp',
    connection_id,
    scope,
    ...addressOf(one),
    // A contact that exists is renamed when the channel accepts the message, not before.
    name: is_known ? null : given_name,
  }))
  const threads = sending.length > 0 ? await resolveThreads(sql, people) : []
  const threadOf = new Map(sending.map((one, i) => [one, threads[i]]))

  const rows: OutboundMessage[] = []
  const prepared = judged.map((one): PreparedRecipient => {
    const thread = threadOf.get(one)
    if (!one.message || !thread) return { ...one, handed: undefined }
    const id = one.message_id ?? newId()
    if (one.message_id === null) {
      rows.push({
        ...one.message.row,
        workspace_id,
        conversation_id: thread.conversation_id,
        id,
        sender_type: 'bot',
        sender_id: null,
        reply_to_message_id: null,
        broadcast_id: one.broadcast_id,
      })
    }
    return { ...one, handed: { ...toHandedRecipient(one, one.message, thread, id), ...batch } }
  })
  if (rows.length > 0) await prepareReserved(sql, rows)
  return prepared
}

/** A recipient without a number is addressed by the user id. */
const addressOf = ({
  phone,
  user_id,
}: Pick<JudgedRecipient, 'phone' | 'user_id'>): Pick<Person, 'phone' | 'user_id'> => ({
  phone,
  user_id: phone === null && user_id !== null ? withoutScope(user_id) : null,
})

function toHandedRecipient(
  { broadcast_id, place, attempt_count, given_name: name, phone, user_id }: JudgedRecipient,
  { content }: MessageContent,
  { contact_id, conversation_id, name: storedName }: Thread,
  message_id: string,
): Omit<HandedRecipient, 'handed_at' | 'is_probe'> {
  return {
    broadcast_id,
    place,
    attempt: attempt_count + 1,
    contact_id,
    conversation_id,
    rename: name !== null && name !== storedName ? { contact_id, name } : undefined,
    outgoing: {
      message_id,
      to: { ...addressOf({ phone, user_id }), name: null, username: null },
      content,
      reply_to: null,
      late_reply: false,
    },
  }
}

/** Updates the recipients, the positions of their broadcasts, the counters and the reserved quota. */
export async function moveRecipients(
  sql: Sql,
  workspaceId: string,
  broadcasts: readonly ActiveBroadcast[],
  prepared: readonly PreparedRecipient[],
  ends: Map<string, number>,
): Promise<void> {
  const rows = prepared.map(({ broadcast_id, place, handed, reason }) => ({
    broadcast_id,
    place,
    status: handed ? 'sending' : 'skipped',
    message_id: handed?.outgoing.message_id ?? null,
    contact_id: handed?.contact_id ?? null,
    reason,
  }))
  const isFirstAttemptOf = (id: string) => (one: PreparedRecipient) => one.broadcast_id === id && !one.is_retry
  const served = broadcasts.map(({ id }) => ({
    id,
    position: ends.get(id),
    first_attempt_count: prepared.filter(isFirstAttemptOf(id)).length,
    // A broadcast without a recipient in this batch keeps its `served_at`, so it comes first in the next one.
    is_served: prepared.some(({ broadcast_id }) => broadcast_id === id),
  }))
  await sql`
    with
    -- The new state of each recipient.
    input as (
      select *
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as i (
        broadcast_id uuid, place int, status text, message_id uuid, contact_id uuid, reason text
      )
    ),
    -- Only this transaction changes pending recipients, because it has locked their broadcasts.
    moved_recipients as (
      update broadcast_recipients r set status = i.status, reason = i.reason, message_id = i.message_id,
        contact_id = coalesce(i.contact_id, r.contact_id), retry_at = null,
        attempt_count = r.attempt_count + (i.status = 'sending')::int
      from input i
      where r.workspace_id = ${workspaceId} and r.broadcast_id = i.broadcast_id and r.place = i.place
      returning r.workspace_id, r.broadcast_id, 'pending' as status_before, r.status as status_after
    ),
    -- The positions behind the recipients, and the quota that now belongs to their messages.
    served_broadcasts as (
      update broadcasts b set position = s.position, reserved_count = b.reserved_count - s.first_attempt_count,
        served_at = case when s.is_served then clock_timestamp() else b.served_at end
      from json_to_recordset(${JSON.stringify(served)}::text::json) as s (
        id uuid, position int, first_attempt_count int, is_served boolean
      )
      where b.workspace_id = ${workspaceId} and b.id = s.id
    )
    ${addCounts(sql, sql`moved_recipients`)}`
  for (const { id, plan_month: month } of broadcasts) {
    const firstAttempts = prepared.filter(isFirstAttemptOf(id))
    const skipped = firstAttempts.filter(({ handed }) => !handed).length
    if (skipped > 0) await releaseQuota(sql, workspaceId, month, skipped)
    // A message counts in the month in which it was created, which may be later than that of the reservation.
    const months = firstAttempts.flatMap(({ handed }) =>
      handed ? [`${timeOfId(handed.outgoing.message_id).slice(0, 7)}-01`] : [],
    )
    const laterMonths = months.filter((other) => other !== month)
    const [to] = laterMonths
    if (to !== undefined) await moveQuota(sql, workspaceId, { from: month, to, count: laterMonths.length })
  }
  const unsent = prepared.flatMap(({ handed, message_id }) => (!handed && message_id ? [message_id] : []))
  if (unsent.length > 0) await failUnsent(sql, workspaceId, unsent, 'skipped at its next attempt')
}

/**
 * Schedules another attempt with the same message, because the channel did not accept it. `isAttempt` is false when the
 * channel was not called; then the attempt does not count.
 */
export async function requeue(
  sql: Sql,
  workspaceId: string,
  { broadcast_id, place, outgoing }: HandedRecipient,
  { afterMs, reason, isAttempt }: { afterMs: number; reason: string; isAttempt: boolean },
): Promise<void> {
  await sql`
    update broadcast_recipients
    set status = 'pending', retry_at = now() + make_interval(secs => ${afterMs / 1000}::float8), reason = ${reason},
      attempt_count = attempt_count - ${isAttempt ? 0 : 1}::int
    where workspace_id = ${workspaceId} and broadcast_id = ${broadcast_id} and place = ${place}
      and status = 'sending' and message_id = ${outgoing.message_id}`
}
