/** Notes of members about a contact. They are never sent. Only the author may delete a note. */
import { memberName } from '../accounts/members.ts'
import { badRequest, forbidden, notFound } from '../lib/errors.ts'
import { isUuid, newId, timeOfId } from '../lib/id.ts'
import { type Page, type Position, toPage } from '../lib/page.ts'
import { type Db, isDangling, type Sql } from '../lib/postgres/db.ts'
import { Column, resource } from '../lib/resource.ts'
import { DateTime, NullableText, type Static, Type, Uuid } from '../lib/schema.ts'
import { lengthOf } from '../lib/text.ts'
import { requireContact } from './contacts.ts'

export const NoteSchema = Type.Object({
  id: Uuid,
  text: Type.String(),
  author: Column(
    Type.Object({ id: Uuid, name: NullableText({ description: 'Null for a removed member.' }) }),
    (sql) => sql`json_build_object('id', n.member_id, 'name', ${memberName(sql, sql`m`)})`,
  ),
  created_at: DateTime,
})
type ContactNote = Static<typeof NoteSchema>

/** The fields of note `n` with its author `m`. */
const { columns: noteColumns } = resource('n', NoteSchema)

const maxNoteLength = 10_000

/** A page, newest first. 404 when the workspace does not have the contact. */
export async function listContactNotes(
  sql: Sql,
  workspaceId: string,
  contactId: string,
  { limit, before }: Position,
): Promise<Page<ContactNote>> {
  const { id } = await requireContact(sql, workspaceId, contactId)
  const notes = await sql<ContactNote[]>`
    select ${noteColumns(sql)}
    from contact_notes n
    left join members m on m.workspace_id = n.workspace_id and m.id = n.member_id
    where n.workspace_id = ${workspaceId} and n.contact_id = ${id} and n.id < ${before}
    order by n.id desc
    limit ${limit + 1}`
  return toPage(notes, limit)
}

export async function createContactNote(
  db: Db,
  workspaceId: string,
  contactId: string,
  member: { id: string; name: string | null; email: string },
  input: string,
): Promise<ContactNote> {
  const text = input.trim()
  if (text === '' || lengthOf(text) > maxNoteLength)
    throw badRequest(`text: must have 1 to ${maxNoteLength} characters`)
  const contact = await requireContact(db, workspaceId, contactId)
  const id = newId()
  await db`
    insert into contact_notes (workspace_id, contact_id, id, member_id, text, created_at)
    values (${workspaceId}, ${contact.id}, ${id}, ${member.id}, ${text}, ${timeOfId(id)})`.catch((error: unknown) => {
    // The contact was erased or merged at the same moment.
    throw isDangling(error, 'contact_notes_workspace_id_contact_id_fkey') ? notFound('contact') : error
  })
  return { id, text, author: { id: member.id, name: member.name?.trim() || member.email }, created_at: timeOfId(id) }
}

export async function deleteContactNote(
  sql: Sql,
  workspaceId: string,
  contactId: string,
  memberId: string,
  id: string,
): Promise<{ id: string; deleted: true }> {
  const [note] =
    isUuid(id) && isUuid(contactId)
      ? await sql<{ member_id: string }[]>`
          select member_id from contact_notes
          where workspace_id = ${workspaceId} and contact_id = ${contactId} and id = ${id}`
      : []
  if (!note) throw notFound('note')
  if (note.member_id !== memberId) throw forbidden('only the author may delete a note')
  await sql`delete from contact_notes where workspace_id = ${workspaceId} and contact_id = ${contactId} and id = ${id}`
  return { id: id.toLowerCase(), deleted: true }
}
