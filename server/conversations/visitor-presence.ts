/**
 * Typing in the web chat, both ways: visitors who type, for the members, and members who type a reply, for the visitors.
 *
 * A visitor has one row while they type, in an unlogged table. The widget repeats its signal every few seconds, so the row of a
 * page that vanished expires; the next report of a member's page removes it (`presence.ts`), and a sweep if no member has a page open.
 */
import type { Fragment, Sql } from '../lib/postgres/db.ts'

/** The widget repeats the signal every four seconds. */
const typingSeconds = 10

/** Stores that a visitor types, if they have written before and are not blocked. Returns whether members must be notified. */
export async function recordVisitorTyping(sql: Sql, workspaceId: string, visitorId: string): Promise<boolean> {
  const [stored] = await sql<{ is_changed: boolean }[]>`
    with
    -- The visitor before this signal.
    previous as (
      select conversation_id from visitor_presence
      where workspace_id = ${workspaceId} and visitor_id = ${visitorId} and typing_until > now()
    ),
    stored as (
      insert into visitor_presence (workspace_id, visitor_id, conversation_id, typing_until)
      select v.workspace_id, i.external_id, v.id, now() + make_interval(secs => ${typingSeconds})
      from contact_identities i
      join conversations v on v.workspace_id = i.workspace_id and v.contact_id = i.contact_id and v.channel = i.channel
      where i.workspace_id = ${workspaceId} and i.channel = 'web' and i.external_id = ${visitorId} and v.blocked_at is null
      on conflict (workspace_id, visitor_id) do update set
        conversation_id = excluded.conversation_id, typing_until = excluded.typing_until
      returning conversation_id
    )
    select (select conversation_id from previous) is distinct from conversation_id as is_changed from stored`
  return stored?.is_changed === true
}

/** Returns whether members must be notified. */
export async function removeVisitorTyping(sql: Sql, workspaceId: string, visitorId: string): Promise<boolean> {
  const { count } = await sql`
    delete from visitor_presence where workspace_id = ${workspaceId} and visitor_id = ${visitorId}`
  return count > 0
}

/** More are not sent to the pages of a workspace. */
const maxListed = 500

/** The conversations whose visitor types. */
export async function listVisitorsTyping(sql: Sql, workspaceId: string): Promise<string[]> {
  const rows = await sql<{ conversation_id: string }[]>`
    select distinct conversation_id from visitor_presence
    where workspace_id = ${workspaceId} and typing_until > now()
    order by conversation_id
    limit ${maxListed}`
  return rows.map(({ conversation_id }) => conversation_id)
}

/** Members of a `with` list: removes the expired rows of a workspace as `removed_visitors`. Locked rows are skipped. */
export const removeExpiredVisitors = (sql: Sql, workspaceId: string): Fragment => sql`
  -- Visitors whose page vanished while they typed.
  expired_visitors as (
    select workspace_id, visitor_id from visitor_presence
    where workspace_id = ${workspaceId} and typing_until <= now()
    for update skip locked
  ),
  removed_visitors as (
    delete from visitor_presence p using expired_visitors e
    where p.workspace_id = e.workspace_id and p.visitor_id = e.visitor_id
    returning p.visitor_id
  )`

/** Deletes the expired rows of all workspaces: of those whose members have no page open, too. */
export async function sweepVisitorsTyping(sql: Sql): Promise<void> {
  await sql`delete from visitor_presence where typing_until < now() - interval '1 minute'`
}

/** The name of a member who types a reply in each conversation; null: the member has none. Never an email address. */
export async function listRepliesTyped(
  sql: Sql,
  workspaceId: string,
  expirySeconds: number,
): Promise<Map<string, string | null>> {
  const rows = await sql<{ conversation_id: string; name: string | null }[]>`
    select distinct on (p.conversation_id) p.conversation_id, m.name
    from member_presence p
    join members m on m.workspace_id = p.workspace_id and m.id = p.member_id
    where p.workspace_id = ${workspaceId} and p.conversation_id is not null and p.typing = 'reply'
      and p.seen_at >= now() - make_interval(secs => ${expirySeconds})
    order by p.conversation_id, p.member_id
    limit ${maxListed}`
  return new Map(rows.map(({ conversation_id, name }) => [conversation_id, name]))
}
