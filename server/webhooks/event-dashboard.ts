/** `/events`: the recorded events and their deliveries. All members may read them. */
import type { Db } from '../lib/db.ts'
import { readPosition } from '../lib/page.ts'
import { DataOf, DateTime, IdParams, ListOf, ListQuery, NullableText, OneOf, Type, Uuid } from '../lib/schema.ts'
import type { App } from '../lib/server.ts'
import type { SlowReads } from '../lib/slow-reads.ts'
import { eventNames, testEventNames } from './emit.ts'
import { providers } from './endpoints.ts'
import { listEvents, requireEvent } from './events.ts'
import { deliveryStatuses } from './log.ts'
import { DeliveryView } from './routes.ts'

const EndpointRef = Type.Object({
  id: Uuid,
  url: Type.String(),
  provider: OneOf(providers),
  is_active: Type.Boolean(),
})

const EventFields = {
  id: Uuid,
  event: OneOf([...eventNames, ...testEventNames]),
  occurred_at: DateTime,
  recorded_at: DateTime,
  subject_id: NullableText(),
}

const EventView = Type.Object({
  ...EventFields,
  deliveries: Type.Array(Type.Object({ id: Uuid, status: OneOf(deliveryStatuses), endpoint: EndpointRef })),
})

const EventWithBody = Type.Object({
  ...EventFields,
  body: Type.String(),
  deliveries: Type.Array(Type.Object({ ...DeliveryView.properties, endpoint: EndpointRef })),
})

const Filters = {
  event: Type.Optional(OneOf(eventNames)),
  search: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
}

export const eventDashboard = (db: Db, slow: SlowReads) => async (app: App) => {
  app.get(
    '/events',
    { schema: { querystring: ListQuery(Filters), response: { 200: ListOf(EventView) } } },
    async ({ session: { workspaceId }, query }) =>
      slow(workspaceId, (sql) => listEvents(sql, workspaceId, query, readPosition(query))),
  )
  app.get(
    '/events/:id',
    { schema: { params: IdParams, response: { 200: DataOf(EventWithBody) } } },
    async ({ session, params }) => ({ data: await requireEvent(db, session.workspaceId, params.id) }),
  )
}
