/** `/labels` and `/views` for members: the labels of conversations, and saved views of the inbox. */
import { managers } from '../accounts/members.ts'
import { maxTagLength } from '../contacts/tags.ts'
import type { Db } from '../lib/db.ts'
import { DataOf, Deleted, IdParams, type Static, TrimmedText, Type, Uuid } from '../lib/schema.ts'
import type { App } from '../lib/server.ts'
import { inboxFilters, readInboxQuery } from './inbox-query.ts'
import { countLabels, deleteLabel, listLabels, resolveLabel, updateLabel } from './labels.ts'
import { LabelSchema } from './routes.ts'
import { createView, deleteView, listViews, updateView } from './views.ts'

const Name = TrimmedText(maxTagLength)
const HexColor = Type.String({ pattern: '^#[0-9a-f]{6}$' })

const LabelCount = Type.Object({
  id: Uuid,
  conversation_count: Type.Integer({ description: 'At most 10,000: there may be more.' }),
})

const Filters = Type.Object(inboxFilters, { additionalProperties: false })
const View = Type.Object({
  id: Uuid,
  name: Type.String(),
  is_shared: Type.Boolean(),
  filters: Type.Object(inboxFilters),
})
const NewView = Type.Object({ name: Name, is_shared: Type.Optional(Type.Boolean()), filters: Filters })
const ViewChanges = Type.Partial(NewView)

const nameOf = ({ name }: { name: string }) => name
const describeView = ({ name, is_shared }: Static<typeof View>) => `${name}, ${is_shared ? 'shared' : 'private'}`

export const labelDashboard = (db: Db) => async (app: App) => {
  app.get('/labels', { schema: { response: { 200: DataOf(Type.Array(LabelSchema)) } } }, async ({ session }) => ({
    data: await listLabels(db, session.workspaceId),
  }))
  // A call of its own: menus of labels need no counts.
  app.get('/labels/counts', { schema: { response: { 200: DataOf(Type.Array(LabelCount)) } } }, async ({ session }) => ({
    data: await countLabels(db, session.workspaceId),
  }))
  app.post(
    '/labels',
    {
      // An existing label is returned with 200.
      config: { audit: { action: 'label.created', summary: nameOf, when: (_, statusCode) => statusCode === 201 } },
      schema: {
        body: Type.Object({ name: Name, color: Type.Optional(HexColor) }),
        response: { 200: DataOf(LabelSchema), 201: DataOf(LabelSchema) },
      },
    },
    async ({ session, body }, reply) => {
      const { label, created } = await resolveLabel(db, session.workspaceId, body.name, body.color)
      return reply.code(created ? 201 : 200).send({ data: label })
    },
  )
  app.patch(
    '/labels/:id',
    {
      config: { audit: { action: 'label.changed', summary: nameOf } },
      schema: {
        params: IdParams,
        body: Type.Object({ name: Type.Optional(Name), color: Type.Optional(HexColor) }),
        response: { 200: DataOf(LabelSchema) },
      },
    },
    async ({ session, params, body }) => ({ data: await updateLabel(db, session.workspaceId, params.id, body) }),
  )
  app.delete(
    '/labels/:id',
    {
      config: { members: managers, audit: { action: 'label.deleted', summary: nameOf } },
      schema: { params: IdParams, response: { 200: DataOf(Deleted) } },
    },
    async ({ session, params }) => {
      const name = await deleteLabel(db, session.workspaceId, params.id)
      return { data: { id: params.id.toLowerCase(), deleted: true, name } }
    },
  )
}

export const viewDashboard = (db: Db) => async (app: App) => {
  app.get('/views', { schema: { response: { 200: DataOf(Type.Array(View)) } } }, async ({ session }) => ({
    data: await listViews(db, session.workspaceId, session.member.id),
  }))
  app.post(
    '/views',
    {
      config: { audit: { action: 'view.created', summary: describeView } },
      schema: { body: NewView, response: { 201: DataOf(View) } },
    },
    async ({ session, body: { name, is_shared = false, filters } }, reply) => {
      readInboxQuery(session, filters)
      reply.code(201)
      return { data: await createView(db, session.workspaceId, session.member.id, { name, is_shared, filters }) }
    },
  )
  app.patch(
    '/views/:id',
    {
      config: { audit: { action: 'view.changed', summary: describeView } },
      schema: { params: IdParams, body: ViewChanges, response: { 200: DataOf(View) } },
    },
    async ({ session, params, body }) => {
      if (body.filters) readInboxQuery(session, body.filters)
      return { data: await updateView(db, session.workspaceId, session.member.id, params.id, body) }
    },
  )
  app.delete(
    '/views/:id',
    {
      config: { audit: { action: 'view.deleted', summary: nameOf } },
      schema: { params: IdParams, response: { 200: DataOf(Deleted) } },
    },
    async ({ session, params }) => {
      const name = await deleteView(db, session.workspaceId, session.member.id, params.id)
      return { data: { id: params.id.toLowerCase(), deleted: true, name } }
    },
  )
}
