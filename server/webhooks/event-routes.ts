/** `/events`: the recorded events and their deliveries. All members may read them; only owners and admins see whole URLs. */

import { type Member, roles } from '../accounts/members.ts'
import { type Row, row } from '../accounts/table.ts'
import { readPosition } from '../lib/page.ts'
import type { Db } from '../lib/postgres/db.ts'
import type { SlowReads } from '../lib/postgres/slow-reads.ts'
import { IdParams, ListQuery, OneOf, Type } from '../lib/schema.ts'
import { eventNames } from './emit.ts'
import { shownTo } from './endpoints.ts'
import { listEvents, requireEvent } from './events.ts'
import { type Endpoint, EventView, EventWithBody } from './resource.ts'

const Filters = {
  event: Type.Optional(OneOf(eventNames)),
  search: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
}

export const eventTable = (db: Db, slow: SlowReads): readonly Row[] => [
  row({
    call: 'GET /events',
    members: roles,
    needsAll: true,
    query: ListQuery(Filters),
    list: EventView,
    run: async ({ caller: { workspaceId, member }, query }) => {
      const { data, meta } = await slow(workspaceId, (sql) => listEvents(sql, workspaceId, query, readPosition(query)))
      return { data: data.map((event) => ({ ...event, deliveries: deliveriesFor(member, event.deliveries) })), meta }
    },
  }),
  row({
    call: 'GET /events/:id',
    members: roles,
    needsAll: true,
    params: IdParams,
    data: EventWithBody,
    run: async ({ caller, params }) => {
      const event = await requireEvent(db, caller.workspaceId, params.id)
      return { ...event, deliveries: deliveriesFor(caller.member, event.deliveries) }
    },
  }),
]

/** The deliveries with the URLs of their endpoints as the member sees them. */
const deliveriesFor = <Delivery extends { endpoint: Pick<Endpoint, 'url'> }>(
  member: Member,
  deliveries: readonly Delivery[],
): Delivery[] => deliveries.map((delivery) => ({ ...delivery, endpoint: shownTo(member, delivery.endpoint) }))
