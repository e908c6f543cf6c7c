/** `/contacts/{id}/notes`, `/visit` and `/duplicates`, for members. */
import { roles, writers } from '../accounts/members.ts'
import { type Row, row } from '../accounts/table.ts'
import { readPosition } from '../lib/page.ts'
import type { Db } from '../lib/postgres/db.ts'
import type { SlowReads } from '../lib/postgres/slow-reads.ts'
import { Deleted, IdParams, ListQuery, OneOf, Type } from '../lib/schema.ts'
import { requireContact } from './contacts.ts'
import { duplicateReasons, listDuplicates } from './duplicates.ts'
import { createContactNote, deleteContactNote, listContactNotes, NoteSchema } from './notes.ts'
import { ContactSchema } from './resource.ts'
import { getLastVisit, VisitSchema } from './visits.ts'

const NoteParams = Type.Object({ ...IdParams.properties, note_id: Type.String() })

const DuplicateView = Type.Object({ contact: ContactSchema, reason: OneOf(duplicateReasons) })

/** What members know about a contact. */
export const contactPanelTable = ({ db, slow }: { db: Db; slow: SlowReads }): readonly Row[] => [
  row({
    call: 'GET /contacts/:id/notes',
    members: roles,
    params: IdParams,
    query: ListQuery({}),
    list: NoteSchema,
    run: ({ caller, params, query }) => listContactNotes(db, caller.workspaceId, params.id, readPosition(query)),
  }),
  row({
    call: 'POST /contacts/:id/notes',
    members: writers,
    audit: false,
    params: IdParams,
    body: Type.Object({ text: Type.String({ maxLength: 40_000 }) }),
    data: NoteSchema,
    status: 201,
    run: ({ caller: { workspaceId, member }, params, body }) =>
      createContactNote(db, workspaceId, params.id, member, body.text),
  }),
  row({
    call: 'DELETE /contacts/:id/notes/:note_id',
    members: writers,
    audit: 'note.deleted',
    params: NoteParams,
    data: Deleted,
    run: ({ caller: { workspaceId, member }, params: { id, note_id } }) =>
      deleteContactNote(db, workspaceId, id, member.id, note_id),
  }),
  row({
    call: 'GET /contacts/:id/visit',
    members: roles,
    params: IdParams,
    data: VisitSchema,
    run: async ({ caller: { workspaceId }, params }) => {
      const { id } = await requireContact(db, workspaceId, params.id)
      return getLastVisit(db, workspaceId, id)
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
