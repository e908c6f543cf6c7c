/**
 * Drafts: the unsent text of a member in a conversation. Only that member sees it, in all their browsers.
 *
 * The page that is typed in decides what the draft is: the last write wins. An empty text deletes the draft.
 */
import type { Session } from '../accounts/callers.ts'
import { badRequest, notFound } from '../lib/errors.ts'
import { isUuid } from '../lib/id.ts'
import { isDangling, isoTime, type Sql } from '../lib/postgres/db.ts'
import { lengthOf } from '../lib/text.ts'
import { restrictionOf, visibleTo } from '../teams/visibility.ts'

export type Draft = { conversation_id: string; text: string; updated_at: string }

/** Longer than any message, so that a text over the limit of its channel is not lost. */
const maxDraftLength = 20_000
/** The list shows the newest drafts only. */
const maxListed = 500

/** The member's drafts in conversations that the member sees, newest first. */
export async function listDrafts(sql: Sql, reader: Session): Promise<Draft[]> {
  const { workspaceId, member } = reader
  const isVisible = sql`exists (
    select from conversations v
    where v.workspace_id = drafts.workspace_id and v.id = drafts.conversation_id and ${visibleTo(sql, reader)}
  )`
  return sql<Draft[]>`
    select conversation_id, text, ${isoTime(sql, sql`updated_at`)} as updated_at
    from drafts
    where workspace_id = ${workspaceId} and member_id = ${member.id} and ${restrictionOf(reader) ? isVisible : sql`true`}
    order by drafts.updated_at desc
    limit ${maxListed}`
}

/** Replaces the member's draft. Returns undefined when the text is empty, which deletes it. */
export async function replaceDraft(
  sql: Sql,
  workspaceId: string,
  { memberId, conversationId, text }: { memberId: string; conversationId: string; text: string },
): Promise<Draft | undefined> {
  if (!isUuid(conversationId)) throw notFound('conversation')
  if (lengthOf(text) > maxDraftLength) throw badRequest(`text: must have at most ${maxDraftLength} characters`)
  if (text.trim() === '') {
    await sql`
      delete from drafts
      where workspace_id = ${workspaceId} and member_id = ${memberId} and conversation_id = ${conversationId}`
    return undefined
  }
  const [draft] = await sql<Draft[]>`
    insert into drafts (workspace_id, member_id, conversation_id, text, updated_at)
    values (${workspaceId}, ${memberId}, ${conversationId}, ${text}, now())
    on conflict (workspace_id, member_id, conversation_id) do update set text = excluded.text, updated_at = now()
    returning conversation_id, text, ${isoTime(sql, sql`updated_at`)} as updated_at`.catch((error: unknown) => {
    throw isDangling(error, 'drafts_conversation_fkey') ? notFound('conversation') : error
  })
  return draft
}
