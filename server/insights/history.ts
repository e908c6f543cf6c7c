/**
 * The history of a contact, newest first: messages and notes of all channels, changes of its conversations, and what members changed
 * about the contact (audit log). Changes by API keys are in no log.
 *
 * All ids are ordered by time, so each source is read from its own index and the page merges them by id.
 */
import { memberName } from '../accounts/members.ts'
import { contentTypes } from '../channels/channel.ts'
import { requireContact } from '../contacts/contacts.ts'
import { channels } from '../contacts/resource.ts'
import { isContactShown } from '../conversations/visible-step.ts'
import { type Page, type Position, toPage } from '../lib/page.ts'
import type { Sql } from '../lib/postgres/db.ts'
import { DateTime, NullableObject, NullableText, OneOf, type Static, Type, Uuid } from '../lib/schema.ts'
import { type Reader, visibleTo } from '../teams/visibility.ts'

const kinds = ['message', 'broadcast', 'note', 'conversation', 'change'] as const

export const HistoryEntrySchema = Type.Object({
  id: Uuid,
  kind: OneOf(kinds, {
    description:
      '`broadcast`: a message of one. `note`: in a thread or about the contact. `conversation`: its status, assignee, labels, snooze or block changed. `change`: a member changed the contact.',
  }),
  /** The text of a message or note, shortened. The changed fields of a change. */
  text: NullableText(),
  direction: NullableText({ description: 'Of a message: `inbound` or `outbound`.' }),
  content_type: Type.Unsafe<(typeof contentTypes)[number] | null>({
    type: ['string', 'null'],
    enum: [...contentTypes, null],
  }),
  /** Of a `conversation`: what changed. Of a `change`: the action of the audit log. */
  action: NullableText(),
  details: Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true }),
  member: NullableObject({ id: Uuid, name: NullableText() }),
  conversation_id: NullableText({ format: 'uuid' }),
  channel: Type.Unsafe<(typeof channels)[number] | null>({ type: ['string', 'null'], enum: [...channels, null] }),
  broadcast: NullableObject({ id: Uuid, name: NullableText() }),
  created_at: DateTime,
})
type HistoryEntry = Static<typeof HistoryEntrySchema>

/** Names of broadcasts by id: the module `broadcasts` provides them. */
export type BroadcastNames = (sql: Sql, workspaceId: string, ids: readonly string[]) => Promise<Map<string, string>>

type StoredEntry = Omit<HistoryEntry, 'broadcast'> & { broadcast_id: string | null }

const maxTextLength = 300

/** 404 when the workspace does not have the contact. */
export async function listHistory(
  sql: Sql,
  reader: Reader,
  broadcastNames: BroadcastNames,
  contactId: string,
  { limit, before }: Position,
): Promise<Page<HistoryEntry>> {
  const { workspaceId } = reader
  const { id } = await requireContact(sql, workspaceId, contactId)
  const count = limit + 1
  const rows = await sql<StoredEntry[]>`
    with
    -- One conversation per connection, of those that the reader sees.
    conversations_of_contact as (
      select v.id, v.channel from conversations v where v.workspace_id = ${workspaceId} and v.contact_id = ${id} and ${visibleTo(sql, reader)}
    ),
    -- Changes of many contacts at once: few of each contact, so all are read. Materialized, or the plan may walk the whole log.
    bulk_changes as materialized (
      select a.id, a.summary, a.action, a.member_id, a.created_at
      from audit_log a
      where a.workspace_id = ${workspaceId} and a.subject_ids @> array[${id}]::uuid[] and a.id < ${before}
    ),
    -- The newest entries of each source, as many as the page can have.
    entries as (
      select m.id, case when m.broadcast_id is null then 'message' else 'broadcast' end as kind, m.content_text as text,
        m.direction, m.content_type, null as action, '{}'::jsonb as details, m.sender_id as member_id,
        v.id as conversation_id, v.channel, m.broadcast_id, m.created_at
      from conversations_of_contact v
      cross join lateral (
        select m.id, m.broadcast_id, left(m.content_text, ${maxTextLength}) as content_text, m.direction, m.content_type,
          m.sender_id, m.created_at
        from messages m
        where m.workspace_id = ${workspaceId} and m.conversation_id = v.id and m.id < ${before}
        order by m.id desc
        limit ${count}
      ) m
      union all
      select e.id, case when e.kind = 'note' then 'note' else 'conversation' end, left(e.text, ${maxTextLength}), null,
        null, nullif(e.kind, 'note'), e.details, e.member_id, v.id, v.channel, null, e.created_at
      from conversations_of_contact v
      cross join lateral (
        select e.id, e.kind, e.text, e.details - 'mentions' as details, e.member_id, e.created_at
        from timeline_entries e
        where e.workspace_id = ${workspaceId} and e.conversation_id = v.id and e.id < ${before}
        order by e.id desc
        limit ${count}
      ) e
      union all
      (
        select n.id, 'note', left(n.text, ${maxTextLength}), null, null, null, '{}', n.member_id, null, null, null, n.created_at
        from contact_notes n
        where n.workspace_id = ${workspaceId} and n.contact_id = ${id} and n.id < ${before}
          and ${isContactShown(sql, reader, sql`n.contact_id`)}
        order by n.id desc
        limit ${count}
      )
      union all
      (
        select a.id, 'change', a.summary, null, null, a.action, '{}', a.member_id, null, null, null, a.created_at
        from audit_log a
        where a.workspace_id = ${workspaceId} and a.subject_id = ${id} and a.id < ${before}
        order by a.id desc
        limit ${count}
      )
      union all
      select id, 'change', summary, null, null, action, '{}', member_id, null, null, null, created_at from bulk_changes
    )
    select e.id, e.kind, e.text, e.direction, e.content_type, e.action, e.details, e.conversation_id, e.channel,
      e.broadcast_id, e.created_at,
      case when e.member_id is not null
        then json_build_object('id', e.member_id, 'name', ${memberName(sql, sql`m`)}) end as member
    from entries e
    left join members m on m.workspace_id = ${workspaceId} and m.id = e.member_id
    order by e.id desc
    limit ${count}`
  const page = toPage(rows, limit)
  const ids = new Set(page.data.flatMap(({ broadcast_id }) => broadcast_id ?? []))
  const names = ids.size > 0 ? await broadcastNames(sql, workspaceId, [...ids]) : new Map<string, string>()
  const data = page.data.map(({ broadcast_id, ...entry }) => ({
    ...entry,
    broadcast: broadcast_id === null ? null : { id: broadcast_id, name: names.get(broadcast_id) ?? null },
  }))
  return { ...page, data }
}
