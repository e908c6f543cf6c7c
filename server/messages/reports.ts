/**
 * What the channel reports of messages, applied in bulk and in any order.
 *
 * A report finds its message by the channel's id, or by ours, which travelled
 * with the send: so it also settles a message whose answer we never got. One
 * that finds nothing waits in `early_reports` and is tried again. Every report
 * of a delivery status is an event, repeated or late as it may be; the stored
 * status only moves up.
 */
import { randomUUID } from 'node:crypto'
import type { Report } from '../channels/channel.ts'
import type { ChannelName } from '../contacts/contacts.ts'
import type { Sql } from '../lib/db.ts'
import { newId } from '../lib/id.ts'
import { emit, eventColumns, toEvent } from '../webhooks/emit.ts'

export type StatusReport = Extract<Report, { kind: 'status' }>
export type Reported = { workspaceId: string; channel: ChannelName; report: StatusReport; isRetry?: boolean }

/** Stands for the conversation's id in an event until the statement knows it. A guess of it is of no use to anybody. */
const hole = randomUUID()

/** Apply them; answers each whether its message was found. Those without one wait for it. */
export async function applyStatuses(sql: Sql, reported: readonly Reported[]): Promise<boolean[]> {
  const rows = reported.map(({ workspaceId, channel, report, isRetry = false }, place) => ({
    place,
    workspace_id: workspaceId,
    external_id: report.external_id,
    message_id: report.message_id,
    status: report.status,
    error: report.error,
    // The social channel has no delivery receipts to tell of.
    tells: channel === 'msgapp',
    waits: !isRetry,
    early_id: newId(),
    report,
    ...toEvent(workspaceId, 'message.status_updated', report.at, {
      msgapp_message_id: report.external_id,
      conversation_id: hole,
      status: report.status,
    }),
  }))
  const found = await sql<{ place: number }[]>`
    with given as (
      select *, array_position(${rankOf(sql)}, status) as rank
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as g (
        place int, workspace_id uuid, external_id text, message_id uuid, status text, error text, tells boolean,
        waits boolean, early_id uuid, report jsonb, ${eventColumns(sql)}
      )
    ),
    found as (
      select g.place, m.workspace_id, m.conversation_id, m.id
      from given g
      join messages m on m.workspace_id = g.workspace_id and m.external_id = g.external_id and m.direction = 'outbound'
      union
      -- Those the channel took without our hearing of it.
      select g.place, m.workspace_id, m.conversation_id, m.id
      from given g
      join messages m on m.workspace_id = g.workspace_id and m.id = g.message_id
        and m.external_id is null and m.direction = 'outbound'
    ),
    best as (
      select distinct on (f.workspace_id, f.conversation_id, f.id)
        f.workspace_id, f.conversation_id, f.id, g.external_id, g.status, g.rank, g.error
      from found f join given g on g.place = f.place
      order by f.workspace_id, f.conversation_id, f.id, g.rank desc
    ),
    locked as (
      select m.workspace_id, m.conversation_id, m.id
      from messages m
      where (m.workspace_id, m.conversation_id, m.id) in (select workspace_id, conversation_id, id from best)
      order by m.conversation_id, m.id
      for no key update
    ),
    moved as (
      update messages m set
        external_id = coalesce(m.external_id, b.external_id),
        status = case when b.rank > array_position(${rankOf(sql)}, m.status) then b.status else m.status end,
        error = case when b.rank > array_position(${rankOf(sql)}, m.status) then b.error else m.error end
      from best b
      join locked l on l.workspace_id = b.workspace_id and l.conversation_id = b.conversation_id and l.id = b.id
      where m.workspace_id = b.workspace_id and m.conversation_id = b.conversation_id and m.id = b.id
        and (m.external_id is null or b.rank > array_position(${rankOf(sql)}, m.status))
    ),
    waiting as (
      insert into early_reports (workspace_id, id, external_id, report, received_at)
      select g.workspace_id, g.early_id, g.external_id, g.report, now()
      from given g
      where g.waits and not exists (select from found f where f.place = g.place)
    ),
    ${emit(
      sql,
      sql`(
        select g.workspace_id, g.event_id, g.event, replace(g.event_body, ${hole}, f.conversation_id::text) as event_body,
          g.occurred_at
        from given g join found f on f.place = g.place
        where g.tells
      ) e`,
    )}
    select place from found`
  const places = new Set(found.map(({ place }) => place))
  return reported.map((_, place) => places.has(place))
}

const rankOf = (sql: Sql) => sql`array['received', 'pending', 'sent', 'failed', 'delivered', 'read']`

const extras = [1, 2, 3, 4, 5, 6, 7, 8, 9]

export type Correction = Extract<Report, { kind: 'edit' | 'revoke' }>

/** A customer changed or took back what they wrote; false: there is no such message yet. */
export async function applyCorrection(sql: Sql, workspaceId: string, report: Correction): Promise<boolean> {
  const text = report.kind === 'edit' ? report.text : null
  const isGone = report.kind === 'revoke'
  // A message of several attachments was kept as several, with a number behind the name.
  const names = isGone ? [report.external_id, ...extras.map((n) => `${report.external_id}:${n}`)] : [report.external_id]
  const [corrected] = await sql`
    with corrected as (
      update messages m set
        content_text = case when m.deleted_at is null then ${text}::text else m.content_text end,
        content = case when ${isGone} then null else m.content end,
        media_url = case when ${isGone} then null else m.media_url end,
        interactive_reply_id = case when ${isGone} then null else m.interactive_reply_id end,
        deleted_at = case when ${isGone} then coalesce(m.deleted_at, ${report.at}::timestamptz) else m.deleted_at end
      where m.workspace_id = ${workspaceId} and m.external_id = any(${names})
      returning m.workspace_id, m.conversation_id, m.id, m.content_text, m.created_at
    ),
    -- What is fetched or being fetched of it goes as well.
    unfetched as (
      delete from media d using corrected c
      where d.workspace_id = ${workspaceId} and d.conversation_id = c.conversation_id and d.message_id = c.id and ${isGone}
    ),
    touched as (
      update conversations v set last_message_text = c.content_text, updated_at = now()
      from corrected c
      where v.workspace_id = ${workspaceId} and v.id = c.conversation_id and v.last_message_at = c.created_at
    )
    select id from corrected`
  return corrected !== undefined
}

/** Everything we sent in a conversation up to this message was read; false: there is no such message yet. */
export async function applyReadUpTo(sql: Sql, workspaceId: string, externalId: string): Promise<boolean> {
  const [mark] = await sql<{ conversation_id: string; id: string }[]>`
    select conversation_id, id from messages where workspace_id = ${workspaceId} and external_id = ${externalId}`
  if (!mark) return false
  await sql`
    update messages set status = 'read'
    where workspace_id = ${workspaceId} and conversation_id = ${mark.conversation_id} and id <= ${mark.id}
      and direction = 'outbound' and status in ('sent', 'delivered')`
  return true
}

/** Let a report wait for the message it is about. */
export async function waitForMessage(sql: Sql, workspaceId: string, externalId: string, report: Report): Promise<void> {
  await sql`
    insert into early_reports (workspace_id, id, external_id, report, received_at)
    values (${workspaceId}, ${newId()}, ${externalId}, ${JSON.stringify(report)}::text::jsonb, now())`
}

export type Early = { workspace_id: string; report: Report; channel: ChannelName }

/** Take the reports whose message has come meanwhile. They are gone once taken: apply them in the same transaction. */
export async function takeEarly(sql: Sql): Promise<Early[]> {
  return sql<Early[]>`
    with ready as (
      select e.workspace_id, e.id, v.channel
      from early_reports e
      join messages m on m.workspace_id = e.workspace_id and m.external_id = e.external_id
      join conversations v on v.workspace_id = m.workspace_id and v.id = m.conversation_id
      order by e.received_at, e.id
      limit 500
      for update of e skip locked
    )
    delete from early_reports e using ready r
    where e.workspace_id = r.workspace_id and e.id = r.id
    returning e.workspace_id, e.report, r.channel`
}

/** Reports of messages that never came. */
export async function sweepEarly(sql: Sql): Promise<void> {
  await sql`delete from early_reports where received_at < now() - interval '1 hour'`
}
