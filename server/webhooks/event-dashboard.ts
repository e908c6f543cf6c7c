/** `/events`: the recorded events and their deliveries. All members may read them; only owners and admins see whole URLs. */
import type { Member } from '../accounts/members.ts'
import type { Db } from '../lib/db.ts'
import { readPosition } from '../lib/page.ts'
import { DataOf, DateTime, IdParams, ListOf, ListQuery, NullableText, OneOf, Type, Uuid } from '../lib/schema.ts'
import type { App } from '../lib/server.ts'
import type { SlowReads } from '../lib/slow-reads.ts'
import { eventNames, testEventNames } from './emit.ts'
import { type Endpoint, providers, shownTo } from './endpoints.ts'
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
    async ({ session: { workspaceId, member }, query }) => {
      const { data, meta } = await slow(workspaceId, (sql) => listEvents(sql, workspaceId, query, readPosition(query)))
      return { data: data.map((event) => ({ ...event, deliveries: deliveriesFor(member, event.deliveries) })), meta }
    },
  )
  app.get(
    '/events/:id',
    { schema: { params: IdParams, response: { 200: DataOf(EventWithBody) } } },
    async ({ session, params }) => {
      const event = await requireEvent(db, session.workspaceId, params.id)
      return { data: { ...event, deliveries: deliveriesFor(session.member, event.deliveries) } }
    },
  )
}

/** The deliveries with the URLs of their endpoints as the member sees them. */
const deliveriesFor = <Delivery extends { endpoint: Pick<Endpoint, 'url'> }>(
  member: Member,
  deliveries: readonly Delivery[],
): Delivery[] => deliveries.map((delivery) => ({ ...delivery, endpoint: shownTo(member, delivery.endpoint) }))
