/**
 * Presence: which members have a conversation open, and whether they write a reply or a note in it.
 *
 * An open page reports its state when it changes and as a heartbeat. The rows are in an unlogged table without foreign keys, so a
 * heartbeat writes no log and locks no logged row. A report also removes the expired rows of the workspace: every page that shows
 * presence sends heartbeats itself, so a page that vanished disappears within `expirySeconds` and one heartbeat.
 */
import type { Session } from '../accounts/callers.ts'
import { type MemberRole, memberName } from '../accounts/members.ts'
import { type Page, type Position, toPage } from '../lib/page.ts'
import type { Sql } from '../lib/postgres/db.ts'
import { visibleTo } from '../teams/visibility.ts'
import { removeExpiredVisitors } from './visitor-presence.ts'

export const typingKinds = ['reply', 'note'] as const

export type PageState = {
  pageId: string
  conversationId: string | null
  typing: (typeof typingKinds)[number] | null
}

/** A member in a conversation. Several pages of a member count as one. */
export type Presence = {
  member_id: string
  name: string
  conversation_id: string
  typing: (typeof typingKinds)[number] | null
}

/** The pages send a heartbeat every 12 seconds. */
export const expirySeconds = 30
/** Further pages of a member are not stored. */
const pagesPerMember = 20
/** More are not sent to the pages of a workspace. */
const maxListed = 500

/** Stores the state of a page. Returns whether other members must be notified. */
export async function recordPresence(
  sql: Sql,
  reader: Session,
  { pageId, conversationId, typing }: PageState,
): Promise<boolean> {
  const { workspaceId } = reader
  const memberId = reader.member.id
  const [stored] = await sql<{ is_changed: boolean }[]>`
    with
    -- The page before this report.
    previous as (
      select conversation_id, typing from member_presence
      where workspace_id = ${workspaceId} and member_id = ${memberId} and page_id = ${pageId}
    ),
    -- Pages without a heartbeat. Another report may remove them at the same moment, so locked rows are skipped.
    expired as (
      select workspace_id, member_id, page_id from member_presence
      where workspace_id = ${workspaceId} and seen_at < now() - make_interval(secs => ${expirySeconds})
        and page_id <> ${pageId}
      for update skip locked
    ),
    removed as (
      delete from member_presence p using expired e
      where p.workspace_id = e.workspace_id and p.member_id = e.member_id and p.page_id = e.page_id
      returning p.conversation_id
    ),
    ${removeExpiredVisitors(sql, workspaceId)},
    -- A conversation that does not exist, or that the member does not see, is stored as none.
    stored as (
      insert into member_presence (workspace_id, member_id, page_id, conversation_id, typing, seen_at)
      select ${workspaceId}::uuid, ${memberId}::uuid, ${pageId}::uuid, v.id,
        case when v.id is not null then ${typing}::text end, now()
      from (values (${conversationId}::uuid)) as requested (id)
      left join conversations v on v.workspace_id = ${workspaceId} and v.id = requested.id and ${visibleTo(sql, reader)}
      where (
        select count(*) from member_presence
        where workspace_id = ${workspaceId} and member_id = ${memberId} and page_id <> ${pageId}
      ) < ${pagesPerMember}
      on conflict (workspace_id, member_id, page_id) do update set
        conversation_id = excluded.conversation_id, typing = excluded.typing, seen_at = excluded.seen_at
      returning conversation_id, typing
    )
    select exists (select from removed where conversation_id is not null)
      or exists (select from removed_visitors)
      or (select conversation_id from previous) is distinct from (select conversation_id from stored)
      or (select typing from previous) is distinct from (select typing from stored) as is_changed`
  return stored?.is_changed === true
}

/** Removes a page that was closed or hidden. Returns whether other members must be notified. */
export async function removePresence(
  sql: Sql,
  workspaceId: string,
  memberId: string,
  pageId: string,
): Promise<boolean> {
  const removed = await sql<{ conversation_id: string | null }[]>`
    delete from member_presence
    where workspace_id = ${workspaceId} and member_id = ${memberId} and page_id = ${pageId}
    returning conversation_id`
  return removed.some(({ conversation_id }) => conversation_id !== null)
}

type MemberOnline = { id: string; name: string | null; email: string; role: MemberRole; is_online: boolean }

/** A page of the members, newest first, with who has the dashboard open. */
export async function listMembersOnline(
  sql: Sql,
  workspaceId: string,
  { limit, before }: Position,
): Promise<Page<MemberOnline>> {
  const members = await sql<MemberOnline[]>`
    select m.id, m.name, m.email, m.role, exists (
      select from member_presence p
      where p.workspace_id = m.workspace_id and p.member_id = m.id
        and p.seen_at >= now() - make_interval(secs => ${expirySeconds})
    ) as is_online
    from members m
    where m.workspace_id = ${workspaceId} and m.id < ${before}
    order by m.id desc
    limit ${limit + 1}`
  return toPage(members, limit)
}

/** Every member who has a conversation open. */
export async function listPresence(sql: Sql, workspaceId: string): Promise<Presence[]> {
  return sql<Presence[]>`
    select distinct on (p.conversation_id, p.member_id)
      p.member_id, ${memberName(sql, sql`m`)} as name, p.conversation_id, p.typing
    from member_presence p
    join members m on m.workspace_id = p.workspace_id and m.id = p.member_id
    where p.workspace_id = ${workspaceId} and p.conversation_id is not null
      and p.seen_at >= now() - make_interval(secs => ${expirySeconds})
    order by p.conversation_id, p.member_id, p.typing nulls last
    limit ${maxListed}`
}
