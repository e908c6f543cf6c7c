/** What members know about a contact: `/contacts/{id}/notes`, `/visit`, `/duplicates`, `/merge`. */
import { readPosition } from '../lib/page.ts'
import {
  DataOf,
  DateTime,
  Deleted,
  IdParams,
  ListOf,
  ListQuery,
  NullableText,
  OneOf,
  Type,
  Uuid,
} from '../lib/schema.ts'
import type { App } from '../lib/server.ts'
import { requireContact } from './contacts.ts'
import { duplicateReasons, listDuplicates } from './duplicates.ts'
import { ContactView } from './member-view.ts'
import { createContactNote, deleteContactNote, listContactNotes } from './notes.ts'
import { type ContactRoutesOptions, mergeMs } from './routes.ts'
import { getLastVisit, type Visit } from './visits.ts'

const NoteView = Type.Object({
  id: Uuid,
  text: Type.String(),
  author: Type.Object({ id: Uuid, name: NullableText({ description: 'Null for a removed member.' }) }),
  created_at: DateTime,
})
const NoteParams = Type.Object({ ...IdParams.properties, note_id: Type.String() })

const VisitView = Type.Unsafe<Visit | null>({
  type: ['object', 'null'],
  properties: {
    url: { type: 'string', description: 'Without query string and fragment.' },
    title: { type: ['string', 'null'] },
    user_agent: { type: ['string', 'null'] },
    seen_at: { type: 'string', format: 'date-time' },
  },
  required: ['url', 'title', 'user_agent', 'seen_at'],
})

const DuplicateView = Type.Object({ contact: ContactView, reason: OneOf(duplicateReasons) })

export const contactPanelDashboard =
  ({ db, slow, mergeContacts }: ContactRoutesOptions) =>
  async (app: App) => {
    app.get(
      '/contacts/:id/notes',
      { schema: { params: IdParams, querystring: ListQuery({}), response: { 200: ListOf(NoteView) } } },
      async ({ session, params, query }) => listContactNotes(db, session.workspaceId, params.id, readPosition(query)),
    )
    app.post(
      '/contacts/:id/notes',
      {
        config: { audit: false },
        schema: {
          params: IdParams,
          body: Type.Object({ text: Type.String({ maxLength: 40_000 }) }),
          response: { 201: DataOf(NoteView) },
        },
      },
      async ({ session: { workspaceId, member }, params, body }, reply) => {
        const note = await createContactNote(db, workspaceId, params.id, member, body.text)
        reply.code(201)
        return { data: note }
      },
    )
    app.delete(
      '/contacts/:id/notes/:note_id',
      { config: { audit: 'note.deleted' }, schema: { params: NoteParams, response: { 200: DataOf(Deleted) } } },
      async ({ session: { workspaceId, member }, params: { id, note_id } }) => ({
        data: await deleteContactNote(db, workspaceId, id, member.id, note_id),
      }),
    )
    app.get(
      '/contacts/:id/visit',
      { schema: { params: IdParams, response: { 200: DataOf(VisitView) } } },
      async ({ session: { workspaceId }, params }) => {
        const { id } = await requireContact(db, workspaceId, params.id)
        return { data: await getLastVisit(db, workspaceId, id) }
      },
    )
    app.get(
      '/contacts/:id/duplicates',
      { schema: { params: IdParams, response: { 200: DataOf(Type.Array(DuplicateView)) } } },
      async ({ session: { workspaceId }, params }) => ({
        data: await slow(workspaceId, (sql) => listDuplicates(sql, workspaceId, params.id)),
      }),
    )
    app.post(
      '/contacts/:id/merge',
      {
        config: {
          members: ['owner', 'admin', 'agent'],
          audit: {
            action: 'contact.merged',
            summary: (_: unknown, { contact_id }: { contact_id: string }) => contact_id.toLowerCase(),
          },
        },
        handlerTimeout: mergeMs,
        schema: {
          params: IdParams,
          body: Type.Object({ contact_id: Uuid }),
          response: { 200: DataOf(ContactView) },
        },
      },
      async ({ session: { workspaceId }, params, body }) => {
        await mergeContacts(workspaceId, params.id, body.contact_id)
        return { data: await requireContact(db, workspaceId, params.id) }
      },
    )
  }
