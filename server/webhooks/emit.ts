/**
 * Events: recorded by the statement that makes the change, with a delivery for every subscribed endpoint.
 *
 * That statement also builds the body, once, in the exact bytes of the webhook. It does so only for workspaces where an active
 * endpoint or an event stream (`listeners.ts`) is subscribed, so an event without a subscriber costs one look-up per statement.
 * No event is lost between the commit and the queue, and none of a rolled-back change is sent.
 */
import { idFromTime } from '../lib/id.ts'
import { type Fragment, isoTime, type Sql } from '../lib/postgres/db.ts'

export const eventNames = [
  'message.received',
  'message.status_updated',
  'conversation.created',
  'contact.created',
] as const
export type EventName = (typeof eventNames)[number]

/**
 * Sent by a button in the dashboard to one endpoint. Endpoints cannot subscribe to them, so no replay and no stream contains them.
 * Those of automation tools have a body of their own. A sample of an event is recorded as `contact.created.test`, and its receiver
 * gets `contact.created`.
 */
const sampleSuffix = '.test'
export const sampleNameOf = <Name extends EventName>(event: Name) => `${event}${sampleSuffix}` as const
export const testEventNames = ['tool_a.test', 'tool_b.test', ...eventNames.map(sampleNameOf)] as const
export type TestEventName = (typeof testEventNames)[number]

const sampledNames = new Map<string, EventName>(eventNames.map((name) => [sampleNameOf(name), name]))

/** The name that the receiver gets. */
export const sentNameOf = (event: string): string => sampledNames.get(event) ?? event

export type Emission = {
  event: EventName
  /** A relation with the `workspace_id` of all events. It may have more rows than `from`. */
  workspaces: Fragment
  /** The items of a `from` clause. Each row of it is an event. */
  from: Fragment
  where?: Fragment
  /** In which order the events get their ids. Without one it would depend on the plan of the statement. */
  order: Fragment
  /** Expressions over `from`. `data` is JSON and is evaluated only for events with a subscriber. */
  workspaceId: Fragment
  occurredAt: Fragment
  data: Fragment
}

/**
 * Whether `emit` would record an event of the workspace now. For a statement of many rows that only reads them for their events: one
 * look-up is cheaper.
 */
export async function hasSubscribers(sql: Sql, workspaceId: string, event: EventName): Promise<boolean> {
  const [found] = await sql<{ has_any: boolean }[]>`
    select exists (
        select from webhook_endpoints e
        where e.workspace_id = ${workspaceId} and e.is_active and ${event}::text = any(e.events)
      ) or exists (
        select from webhook_listeners l
        where l.workspace_id = ${workspaceId} and l.expires_at > now() and ${event}::text = any(l.events)
      ) as has_any`
  return found?.has_any ?? false
}

/** Members of a `with` list that record events and queue their deliveries. */
export function emit(
  sql: Sql,
  { event, workspaces, from, where, order, workspaceId, occurredAt, data }: Emission,
): Fragment {
  return sql`
    -- Active endpoints that are subscribed. Deleting or deactivating one waits for these locks, or is seen here.
    subscribed_endpoints as (
      select e.workspace_id, e.id
      from webhook_endpoints e
      where exists (select from ${workspaces} w where w.workspace_id = e.workspace_id)
        and e.is_active and ${event}::text = any(e.events)
      for key share of e
    ),
    -- Workspaces with a subscriber. A stream reads the events themselves, so it gets no delivery.
    subscribed_workspaces as (
      select workspace_id from subscribed_endpoints
      union
      select l.workspace_id
      from webhook_listeners l
      where exists (select from ${workspaces} w where w.workspace_id = l.workspace_id)
        and l.expires_at > now() and ${event}::text = any(l.events)
    ),
    -- The events with their bodies. Three levels, because a volatile expression is evaluated once per level: the time, the id of that time, the body
    -- with that id. None of the texts joined here can hold a character that JSON escapes.
    recorded_events as (
      insert into webhook_events (workspace_id, id, event, body, occurred_at)
      select b.workspace_id, b.id, ${event}::text,
        '{"id":"' || b.id || '","event":"' || ${event}::text
          || '","occurred_at":"' || ${isoTime(sql, sql`b.occurred_at`)} || '","account_id":"' || b.workspace_id
          || '","data":' || b.data || '}',
        b.occurred_at
      from (
        select a.workspace_id, a.occurred_at, a.data, ${idFromTime(sql, sql`a.recorded_at`)} as id
        from (
          select ${workspaceId} as workspace_id, ${occurredAt} as occurred_at, (${data})::text as data,
            clock_timestamp() as recorded_at
          from ${from}
          where ${workspaceId} in (select workspace_id from subscribed_workspaces)${where ? sql` and ${where}` : sql``}
          order by ${order}
        ) a
      ) b
      returning workspace_id, id
    ),
    -- A delivery for each event and subscribed endpoint.
    queued_deliveries as (
      insert into webhook_deliveries (workspace_id, endpoint_id, id, event_id)
      select e.workspace_id, s.id, gen_random_uuid(), e.id
      from recorded_events e join subscribed_endpoints s on s.workspace_id = e.workspace_id
    )`
}
