/**
 * Handing recipients over: one transaction a batch.
 *
 * It holds the number's pace, chooses as many as may leave now from the
 * number's broadcasts in turn, looks at each as it is at this moment, and
 * writes the message that is about to be sent. Whoever dies before the commit
 * has done nothing. Whoever dies after it may have sent or not, and nobody
 * tries again: the channel's reports settle those, or the sweep does. So each
 * recipient is sent to at most once.
 */

import { moveQuota, releaseQuota } from '../accounts/quota.ts'
import type { Channel, Connection, Outgoing, Template } from '../channels/channel.ts'
import type { Who } from '../contacts/people.ts'
import { resolveThreads, type Thread } from '../conversations/threads.ts'
import type { Db, Sql } from '../lib/db.ts'
import { newId, timeOfId } from '../lib/id.ts'
import { type OutboundMessage, prepareReserved } from '../messages/prepare.ts'
import { failUnsent } from '../messages/settle.ts'
import type { MessageContent } from '../messages/template.ts'
import { type Active, choose, type Judged, judge, lockActive } from './choose.ts'
import { type Breaker, type BreakerPolicy, transition } from './circuit-breaker.ts'
import { addUp } from './counts.ts'
import { lockPace, saveBreaker, spendAllowance, waitFor } from './pace.ts'

/** Somebody to send to at once. */
export type Handed = {
  broadcast_id: string
  place: number
  /** How often it was tried, this time included. */
  attempt: number
  contact_id: string
  conversation_id: string
  /** The contact's new name, to store when the channel accepts the message. */
  rename: { contact_id: string; name: string } | undefined
  outgoing: Outgoing
  /** By the database's clock, in seconds. */
  handed_at: number
  /** It tries out whether the channel answers again. */
  is_probe: boolean
}

export type HandedOver =
  /** `waitMs`: when to come again. `breaker`: of the number, as it is now. */
  | { kind: 'handed'; handed: Handed[]; waitMs: number; breaker: Breaker }
  /** The circuit breaker of the number is open, or its probe is in flight. */
  | { kind: 'held'; breaker: Breaker }
  /** Another process is at this number. */
  | { kind: 'busy' }
  /** There is nobody to hand over. */
  | { kind: 'idle' }
  /** The template cannot be sent now. */
  | { kind: 'stuck'; broadcastId: string; reason: string }

export type HandingOver = {
  connection: Connection
  channel: Channel
  /** At most so many. */
  limit: number
  policy: BreakerPolicy
  /** Reads in the transaction: a second connection of the pool might never come. */
  getTemplate: (sql: Sql, name: string, language: string) => Promise<Template | undefined>
}

/** A batch is what may leave within this time: small enough that nobody waits for it. */
export const batchMs = 30
/** After a standstill more may leave at once, but not much more: what is handed over when a process dies has no outcome. */
const maxBatchMs = 50

export function handOver(db: Db, handing: HandingOver): Promise<HandedOver> {
  const { connection, limit } = handing
  return db.begin(async (sql): Promise<HandedOver> => {
    const pace = await lockPace(sql, connection)
    if (!pace) return { kind: 'busy' }
    const breaker = transition(pace.breaker, { type: 'due' }, pace.at * 1000, handing.policy)
    const isProbe = breaker.state === 'half_open' && pace.breaker.state === 'open'
    if (breaker.state !== 'closed' && !isProbe) {
      if (breaker !== pace.breaker) await saveBreaker(sql, connection, breaker)
      return { kind: 'held', breaker }
    }
    const allowed = Math.min(limit, Math.floor(pace.allowance), Math.ceil((pace.rate * maxBatchMs) / 1000))
    if (allowed < 1) return { kind: 'handed', handed: [], waitMs: waitFor(pace, 0, batchMs), breaker: pace.breaker }
    const most = isProbe ? 1 : allowed

    const broadcasts = await lockActive(sql, connection.workspace_id)
    if (broadcasts.length === 0) return { kind: 'idle' }
    const templates = new Map<string, Template>()
    for (const { id, template_name: name, template_language: language } of broadcasts) {
      const template = await handing.getTemplate(sql, name, language)
      if (template?.status !== 'APPROVED') {
        return { kind: 'stuck', broadcastId: id, reason: `The template ${name} in ${language} is not approved.` }
      }
      templates.set(id, template)
    }
    const { chosen, ends } = await choose(sql, connection.workspace_id, broadcasts, most)
    const judged = judge(handing.channel, broadcasts, templates, chosen)
    const written = await write(sql, connection, judged)
    await settleChosen(sql, connection.workspace_id, broadcasts, written, ends)
    const count = written.filter(({ message }) => message).length
    await spendAllowance(sql, connection, pace, count)
    // A recipient that is skipped is no probe: the next one is.
    if (isProbe && count > 0) await saveBreaker(sql, connection, breaker)
    const handed = written.flatMap((one) => (one.message ? [toHanded(one, one.message, pace.at, isProbe)] : []))
    return {
      kind: 'handed',
      handed,
      waitMs: waitFor(pace, count, batchMs),
      breaker: count > 0 ? breaker : pace.breaker,
    }
  }) as Promise<HandedOver>
}

type Written = Judged & { thread: Thread | undefined; message_id: string | null }

/** Find or make the people and conversations, and write the messages. A second try has its message already. */
async function write(sql: Sql, { workspace_id }: Connection, judged: readonly Judged[]): Promise<Written[]> {
  const sending = judged.filter(({ message }) => message)
  const people: Who[] = sending.map(({ phone, given_phone, given_name, is_known }) => ({
    workspace_id,
    channel: 'msgapp',
    phone: phone ?? given_phone,
    user_id: null,
    // A contact that exists is renamed when the channel accepts the message, not before.
    name: is_known ? null : given_name,
  }))
  const threads = sending.length > 0 ? await resolveThreads(sql, people) : []
  const byPlace = new Map(sending.map((one, i) => [one, threads[i]]))

  const rows: OutboundMessage[] = []
  const written = judged.map((one): Written => {
    const thread = byPlace.get(one)
    if (!one.message || !thread) return { ...one, message: undefined, thread: undefined }
    if (one.message_id !== null) return { ...one, thread }
    const id = newId()
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
    return { ...one, thread, message_id: id }
  })
  if (rows.length > 0) await prepareReserved(sql, rows)
  return written
}

/** Move the recipients, their broadcasts and the plan's places along. */
async function settleChosen(
  sql: Sql,
  workspaceId: string,
  broadcasts: readonly Active[],
  written: readonly Written[],
  ends: Map<string, number>,
): Promise<void> {
  const rows = written.map(({ broadcast_id, place, message, message_id, thread, reason }) => ({
    broadcast_id,
    place,
    status: message ? 'sending' : 'skipped',
    message_id: message ? message_id : null,
    contact_id: thread?.contact_id ?? null,
    reason,
  }))
  const isFreshOf = (id: string) => (one: Written) => one.broadcast_id === id && !one.is_retry
  const served = broadcasts.map(({ id }) => ({
    id,
    position: ends.get(id),
    fresh_count: written.filter(isFreshOf(id)).length,
    // Where nobody's turn came, it comes next: otherwise those after the first would wait until it is done.
    is_served: written.some(({ broadcast_id }) => broadcast_id === id),
  }))
  await sql`
    with given as (
      select *
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as g (
        broadcast_id uuid, place int, status text, message_id uuid, contact_id uuid, reason text
      )
    ),
    moved as (
      update broadcast_recipients r set status = g.status, reason = g.reason, message_id = g.message_id,
        contact_id = coalesce(g.contact_id, r.contact_id), retry_at = null,
        attempt_count = r.attempt_count + (g.status = 'sending')::int
      from given g
      where r.workspace_id = ${workspaceId} and r.broadcast_id = g.broadcast_id and r.place = g.place
      returning r.workspace_id, r.broadcast_id, 'pending' as status_before, r.status as status_after
    ),
    served as (
      update broadcasts b set position = s.position, reserved_count = b.reserved_count - s.fresh_count,
        served_at = case when s.is_served then clock_timestamp() else b.served_at end
      from json_to_recordset(${JSON.stringify(served)}::text::json) as s (
        id uuid, position int, fresh_count int, is_served boolean
      )
      where b.workspace_id = ${workspaceId} and b.id = s.id
    )
    ${addUp(sql, sql`moved`)}`
  for (const { id, plan_month: month } of broadcasts) {
    const fresh = written.filter(isFreshOf(id))
    const skipped = fresh.filter(({ message }) => !message).length
    if (skipped > 0) await releaseQuota(sql, workspaceId, month, skipped)
    // A message counts in the month of its making, and gives its place back there.
    const elsewhere = fresh.flatMap(({ message_id }) => (message_id ? [`${timeOfId(message_id).slice(0, 7)}-01`] : []))
    const count = elsewhere.filter((other) => other !== month).length
    const to = elsewhere.find((other) => other !== month)
    if (to !== undefined) await moveQuota(sql, workspaceId, { from: month, to, count })
  }
  const unsent = written.flatMap(({ message, is_retry, message_id }) =>
    !message && is_retry && message_id ? [message_id] : [],
  )
  if (unsent.length > 0) await failUnsent(sql, workspaceId, unsent, 'passed over at its next try')
}

function toHanded(one: Written, { content }: MessageContent, at: number, isProbe: boolean): Handed {
  const { thread, message_id: id } = one
  if (!thread || id === null) throw new Error('a recipient handed over has no message')
  const { given_name: name } = one
  return {
    broadcast_id: one.broadcast_id,
    place: one.place,
    attempt: one.attempt_count + 1,
    contact_id: thread.contact_id,
    conversation_id: thread.conversation_id,
    rename: name !== null && name !== thread.name ? { contact_id: thread.contact_id, name } : undefined,
    handed_at: at,
    is_probe: isProbe,
    outgoing: {
      message_id: id,
      to: { phone: one.phone ?? one.given_phone, user_id: null, name: null, username: null },
      content,
      reply_to: null,
      late_reply: false,
    },
  }
}

/**
 * The channel did not take it: the recipient is sent to again after a while, with the same message. `isAttempt`: false when
 * the channel was never asked.
 */
export async function requeue(
  sql: Sql,
  workspaceId: string,
  { broadcast_id, place, outgoing }: Handed,
  { afterMs, reason, isAttempt }: { afterMs: number; reason: string; isAttempt: boolean },
): Promise<void> {
  await sql`
    update broadcast_recipients
    set status = 'pending', retry_at = now() + make_interval(secs => ${afterMs / 1000}::float8), reason = ${reason},
      attempt_count = attempt_count - ${isAttempt ? 0 : 1}::int
    where workspace_id = ${workspaceId} and broadcast_id = ${broadcast_id} and place = ${place}
      and status = 'sending' and message_id = ${outgoing.message_id}`
}
