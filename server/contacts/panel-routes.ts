/** `/contacts/{id}/notes`, `/visit` and `/duplicates`, for members. */
import type { Session } from '../accounts/callers.ts'
import { roles, writers } from '../accounts/members.ts'
import { type Row, row } from '../accounts/table.ts'
import { notFound } from '../lib/errors.ts'
import { readPosition } from '../lib/page.ts'
import type { Db, Sql } from '../lib/postgres/db.ts'
import type { SlowReads } from '../lib/postgres/slow-reads.ts'
import { Deleted, IdParams, ListQuery, OneOf, Type } from '../lib/schema.ts'
import { requireContact } from './contacts.ts'
import { duplicateReasons, listDuplicates } from './duplicates.ts'
import { createContactNote, deleteContactNote, listContactNotes, NoteSchema } from './notes.ts'
import { ContactSchema } from './resource.ts'
import { getLastVisit, VisitSchema } from './visits.ts'

const NoteParams = Type.Object({ ...IdParams.properties, note_id: Type.String() })

const DuplicateView = Type.Object({ contact: ContactSchema, reason: OneOf(duplicateReasons) })

type PanelOptions = {
  db: Db
  slow: SlowReads
  /** Whether the member sees what members know about the contact: not if all of its conversations belong to other teams. */
  seesContact: (sql: Sql, caller: Session, contactId: string) => Promise<boolean>
}

/** What members know about a contact. */
export const contactPanelTable = ({ db, slow, seesContact }: PanelOptions): readonly Row[] => [
  row({
    call: 'GET /contacts/:id/notes',
    members: roles,
    params: IdParams,
    query: ListQuery({}),
    list: NoteSchema,
    run: async ({ caller, params, query }) =>
      (await seesContact(db, caller, params.id))
        ? listContactNotes(db, caller.workspaceId, params.id, readPosition(query))
        : { data: [], meta: { next_cursor: null } },
  }),
  row({
    call: 'POST /contacts/:id/notes',
    members: writers,
    audit: false,
    params: IdParams,
    body: Type.Object({ text: Type.String({ maxLength: 40_000 }) }),
    data: NoteSchema,
    status: 201,
    run: async ({ caller, params, body }) => {
      if (!(await seesContact(db, caller, params.id))) throw notFound('contact')
      return createContactNote(db, caller.workspaceId, params.id, caller.member, body.text)
    },
  }),
  row({
    call: 'DELETE /contacts/:id/notes/:note_id',
    members: writers,
    audit: 'note.deleted',
    params: NoteParams,
    data: Deleted,
    run: async ({ caller, params: { id, note_id } }) => {
      if (!(await seesContact(db, caller, id))) throw notFound('note')
      return deleteContactNote(db, caller.workspaceId, id, caller.member.id, note_id)
    },
  }),
  row({
    call: 'GET /contacts/:id/visit',
    members: roles,
    params: IdParams,
    data: VisitSchema,
    run: async ({ caller, params }) => {
      const { id } = await requireContact(db, caller.workspaceId, params.id)
      return (await seesContact(db, caller, id)) ? getLastVisit(db, caller.workspaceId, id) : null
    },
  }),
  row({
    call: 'GET /contacts/:id/duplicates',
    members: roles,
    params: IdParams,
    data: Type.Array(DuplicateView),
    run: ({ caller: { workspaceId }, params }) =>
      slow(workspaceId, (sql) => listDuplicates(sql, workspaceId, params.id)),
  }),
]
