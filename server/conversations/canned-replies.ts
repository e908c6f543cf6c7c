/**
 * Canned replies: prepared texts and files that members insert by a shortcut. A personal one belongs to one member and only that
 * member sees it; a shared one belongs to the workspace, and all members see it, or the members of one team. Managers see all shared
 * ones. A shortcut is unique among the shared ones and among those of a member, without regard to case.
 *
 * A text may have variables, `{{contact.name|there}}` and `{{member.name}}`. The page fills them when a member picks the reply.
 */
import { badRequest, forbidden, notFound } from '../lib/errors.ts'
import { isUuid, newId, timeOfId } from '../lib/id.ts'
import { type Db, type Fragment, isDangling, isDuplicate, type Sql } from '../lib/postgres/db.ts'
import { Column, NoColumn, resource } from '../lib/resource.ts'
import { DateTime, NullableText, OneOf, type Static, Type, Uuid } from '../lib/schema.ts'
import { fold, lengthOf } from '../lib/text.ts'
import { listUploads, releaseUploads, requireUploads } from '../media/uploads.ts'
import { notTeam, requireTeamName } from '../teams/teams.ts'

export const CannedReplySchema = Type.Object(
  {
    id: Uuid,
    shortcut: Type.String(),
    text: Type.String({ description: 'May have variables: `{{contact.name|there}}`, `{{member.name}}`.' }),
    attachments: NoColumn(
      Type.Array(
        Type.Object({
          media_url: Type.String(),
          type: OneOf(['image', 'video', 'audio', 'document']),
          mime_type: Type.String(),
          filename: NullableText(),
          size_bytes: Type.Integer(),
        }),
      ),
    ),
    is_shared: Column(
      Type.Boolean({ description: 'All members see it, or those of its team; else only its author.' }),
      (sql) => sql`r.member_id is null`,
    ),
    team_id: NullableText({ description: 'Of a shared one: only its members and managers see it. Null: all members.' }),
    updated_at: DateTime,
  },
  { title: 'CannedReply' },
)
export type CannedReply = Static<typeof CannedReplySchema>

const cannedReply = resource('r', CannedReplySchema)

/** The fields of reply `r`, and its files. */
const columns = (sql: Sql): Fragment => sql`${cannedReply.columns(sql)}, r.upload_ids`

export type CannedReplyInput = {
  shortcut: string
  text: string
  /** Links of uploaded files. */
  attachments: readonly string[]
  is_shared: boolean
  /** Of a shared reply: only the members of this team see it. */
  team_id: string | null
}

/** The member who calls. Only managers change shared replies. */
export type Author = { memberId: string; isManager: boolean }

export const maxAttachments = 5
const maxShortcutLength = 40
const maxTextLength = 4_096
/** Shared replies of a workspace, and personal replies of a member. */
const maxReplies = 500

type Row = Omit<CannedReply, 'attachments'> & { upload_ids: string[] }

/** The shared replies that the member sees and those of the member, by shortcut. */
export async function listCannedReplies(
  sql: Sql,
  workspaceId: string,
  author: Author,
  publicUrl: string,
): Promise<CannedReply[]> {
  const rows = await sql<Row[]>`
    select ${columns(sql)}
    from canned_replies r
    where r.workspace_id = ${workspaceId} and ${isVisible(sql, workspaceId, author)}
    order by r.shortcut_key, r.id`
  return withAttachments(sql, workspaceId, rows, publicUrl)
}

export async function createCannedReply(
  db: Db,
  workspaceId: string,
  author: Author,
  input: CannedReplyInput,
  publicUrl: string,
): Promise<CannedReply> {
  const { shortcut, text } = readInput(input)
  requireAuthor(author, input.is_shared)
  const memberId = input.is_shared ? null : author.memberId
  const id = newId()
  const row = await db
    .begin(async (sql) => {
      const [existing] = await sql<{ count: number }[]>`
        select count(*)::int as count from canned_replies
        where workspace_id = ${workspaceId} and member_id is not distinct from ${memberId}`
      const teamId = await readTeam(sql, workspaceId, input)
      if (existing && existing.count >= maxReplies) throw badRequest(`there are ${maxReplies} canned replies already`)
      const uploadIds = await requireUploads(sql, workspaceId, input.attachments, { publicUrl, field: 'attachments' })
      const [created] = await sql<Row[]>`
        insert into canned_replies as r (workspace_id, id, member_id, team_id, shortcut, shortcut_key, text, upload_ids,
          created_at, updated_at)
        values (${workspaceId}, ${id}, ${memberId}, ${teamId}, ${shortcut}, ${fold(shortcut)}, ${text}, ${uploadIds}::uuid[],
          ${timeOfId(id)}, ${timeOfId(id)})
        returning ${columns(sql)}`
      return created
    })
    .catch(refuseConflict)
  return requireWithAttachments(db, workspaceId, row, publicUrl)
}

/** Replaces a reply. A reply stays personal or shared, unless a manager shares a personal one of their own or takes it back. */
export async function updateCannedReply(
  db: Db,
  workspaceId: string,
  author: Author,
  id: string,
  input: CannedReplyInput,
  publicUrl: string,
): Promise<CannedReply> {
  const { shortcut, text } = readInput(input)
  const row = await db
    .begin(async (sql) => {
      const before = await requireOwn(sql, workspaceId, author, id)
      requireAuthor(author, input.is_shared)
      const teamId = await readTeam(sql, workspaceId, input)
      const uploadIds = await requireUploads(sql, workspaceId, input.attachments, { publicUrl, field: 'attachments' })
      await releaseUploads(sql, workspaceId, before.upload_ids)
      const [updated] = await sql<Row[]>`
        update canned_replies r set
          member_id = ${input.is_shared ? null : author.memberId}, team_id = ${teamId}, shortcut = ${shortcut},
          shortcut_key = ${fold(shortcut)}, text = ${text}, upload_ids = ${uploadIds}::uuid[], updated_at = now()
        where r.workspace_id = ${workspaceId} and r.id = ${id}
        returning ${columns(sql)}`
      return updated
    })
    .catch(refuseConflict)
  return requireWithAttachments(db, workspaceId, row, publicUrl)
}

/** Returns the deleted reply's shortcut and whether it was shared. */
export async function deleteCannedReply(
  db: Db,
  workspaceId: string,
  author: Author,
  id: string,
): Promise<{ id: string; shortcut: string; is_shared: boolean }> {
  return db.begin(async (sql) => {
    const { upload_ids, shortcut, is_shared } = await requireOwn(sql, workspaceId, author, id)
    await releaseUploads(sql, workspaceId, upload_ids)
    await sql`delete from canned_replies where workspace_id = ${workspaceId} and id = ${id}`
    return { id, shortcut, is_shared }
  })
}

/** Deletes the personal replies of a member who is removed, and gives up their files. */
export async function deletePersonalReplies(sql: Sql, workspaceId: string, memberId: string): Promise<void> {
  const deleted = await sql<{ upload_ids: string[] }[]>`
    delete from canned_replies where workspace_id = ${workspaceId} and member_id = ${memberId} returning upload_ids`
  await releaseUploads(
    sql,
    workspaceId,
    deleted.flatMap(({ upload_ids }) => upload_ids),
  )
}

/** Locks a reply that the author may change. One that the author does not see does not exist for the author. */
async function requireOwn(sql: Sql, workspaceId: string, author: Author, id: string): Promise<Row> {
  const [row] = isUuid(id)
    ? await sql<Row[]>`
        select ${columns(sql)}
        from canned_replies r
        where r.workspace_id = ${workspaceId} and r.id = ${id} and ${isVisible(sql, workspaceId, author)}
        for update`
    : []
  if (!row) throw notFound('canned reply')
  requireAuthor(author, row.is_shared)
  return row
}

/** Condition on reply `r`: the author sees it. */
function isVisible(sql: Sql, workspaceId: string, { memberId, isManager }: Author): Fragment {
  const isOfTeam = sql`exists (
    select from team_members tm
    where tm.workspace_id = ${workspaceId} and tm.team_id = r.team_id and tm.member_id = ${memberId}
  )`
  const isShown = isManager ? sql`true` : sql`(r.team_id is null or ${isOfTeam})`
  return sql`(r.member_id = ${memberId} or (r.member_id is null and ${isShown}))`
}

async function readTeam(
  sql: Sql,
  workspaceId: string,
  { is_shared, team_id }: CannedReplyInput,
): Promise<string | null> {
  if (team_id === null) return null
  if (!is_shared) throw badRequest('team_id: a personal canned reply has no team')
  await requireTeamName(sql, workspaceId, team_id, 'team_id')
  return team_id
}

function requireAuthor({ isManager }: Author, isShared: boolean): void {
  if (isShared && !isManager) throw forbidden('only owner and admin may change shared canned replies')
}

function readInput({ shortcut: input, text, attachments }: CannedReplyInput): { shortcut: string; text: string } {
  const shortcut = input.trim().replace(/^\//, '')
  if (!/^[\p{L}\p{N}][\p{L}\p{M}\p{N}_-]*$/u.test(shortcut)) {
    throw badRequest('shortcut: must have letters, digits, - and _ only')
  }
  if (lengthOf(shortcut) > maxShortcutLength) {
    throw badRequest(`shortcut: must have at most ${maxShortcutLength} characters`)
  }
  if (lengthOf(text) > maxTextLength) throw badRequest(`text: must have at most ${maxTextLength} characters`)
  if (text.trim() === '' && attachments.length === 0) throw badRequest('text: must not be blank without attachments')
  return { shortcut, text: text.trim() }
}

function refuseConflict(error: unknown): never {
  // The team was deleted at the same moment.
  if (isDangling(error, 'canned_replies_team_fkey')) throw notTeam('team_id')
  throw isDuplicate(error, 'canned_replies_shortcut_unique') ? badRequest('shortcut: already in use') : error
}

async function requireWithAttachments(
  sql: Sql,
  workspaceId: string,
  row: Row | undefined,
  publicUrl: string,
): Promise<CannedReply> {
  const [reply] = await withAttachments(sql, workspaceId, row ? [row] : [], publicUrl)
  if (!reply) throw notFound('canned reply')
  return reply
}

async function withAttachments(
  sql: Sql,
  workspaceId: string,
  rows: readonly Row[],
  publicUrl: string,
): Promise<CannedReply[]> {
  const uploads = await listUploads(
    sql,
    workspaceId,
    rows.flatMap(({ upload_ids }) => upload_ids),
  )
  return rows.map(({ upload_ids, ...reply }) => ({
    ...reply,
    attachments: upload_ids.flatMap((id) => {
      const upload = uploads.find((each) => each.id === id)
      if (!upload) return []
      const { type, path, mime_type, filename, size_bytes } = upload
      return [{ type, media_url: `${publicUrl}${path}`, mime_type, filename, size_bytes }]
    }),
  }))
}
