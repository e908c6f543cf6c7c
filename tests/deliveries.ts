/** Helpers of delivery tests: endpoints, events, and reads of the queue and the log. */
import { createSealer } from '../server/lib/crypto.ts'
import { newId } from '../server/lib/id.ts'
import type { Db } from '../server/lib/postgres/db.ts'
import { sealContext } from '../server/webhooks/endpoints.ts'
import { holdTransaction } from './database.ts'
import { type Api, dataOf, pluck, type TestDatabase, testEncryptionKey, until } from './support.ts'

export const addEndpoint = async (api: Api, url: string): Promise<{ id: string; secret: string }> =>
  dataOf(await api.post('/webhooks', { url, events: ['contact.created'] }), 201)

let lastPhone = 14155550100
/** Causes an event: creates a contact. Answers its id. */
export const causeEvent = async (api: Api): Promise<string> =>
  dataOf(await api.post('/contacts', { phone: `+${lastPhone++}` }), 201).id

export type Attempt = {
  id: string
  delivery_id: string
  attempt: number
  status: string
  http_status: number | null
  duration_ms: number | null
  error: string | null
  response: string | null
  is_first: boolean
}

export const attemptsOf = (db: Db, endpointId: string) => db<Attempt[]>`
  select id, delivery_id, attempt, status, http_status, duration_ms, error, response, is_first
  from webhook_attempts where endpoint_id = ${endpointId} order by id`

export const waitForAttempts = (db: Db, endpointId: string, count: number, withinMs = 20_000) =>
  until(
    `${count} attempts`,
    async () => {
      const attempts = await attemptsOf(db, endpointId)
      return attempts.length >= count && attempts
    },
    withinMs,
  )

/** Makes every delivery of the workspace that is not in flight due after `seconds`. */
export const postpone = (db: Db, workspaceId: string, seconds: number) => db`
  update webhook_deliveries d set next_attempt_at = now() + make_interval(secs => ${seconds})
  where d.workspace_id = ${workspaceId} and d.attempt_count = (select count(*) from webhook_attempts a where a.delivery_id = d.id)`

/** Records these event bodies and queues them for the endpoints. */
export async function queueEvents(
  db: Db,
  workspaceId: string,
  endpointIds: readonly string[],
  bodies: readonly string[],
) {
  const ids = bodies.map(() => newId())
  await db`
    with recorded as (
      insert into webhook_events (workspace_id, id, event, body, occurred_at)
      select ${workspaceId}, id, 'contact.created', body, now() from unnest(${ids}::uuid[], ${[...bodies]}::text[]) as e (id, body)
      returning id
    )
    insert into webhook_deliveries (workspace_id, endpoint_id, id, event_id)
    select ${workspaceId}, endpoint_id, gen_random_uuid(), r.id
    from recorded r cross join unnest(${[...endpointIds]}::uuid[]) as e (endpoint_id)`
  return ids
}

/** More endpoints like one, beyond what a workspace may have, with secrets sealed under this key. */
export async function multiply(
  db: Db,
  id: string,
  urls: readonly string[],
  encryptionKey = testEncryptionKey,
): Promise<string[]> {
  const [endpoint] = await db<{ workspace_id: string }[]>`select workspace_id from webhook_endpoints where id = ${id}`
  const workspace_id = endpoint?.workspace_id ?? ''
  const ids = urls.map(() => newId())
  const sealer = createSealer(encryptionKey)
  const secrets = ids.map((one) => sealer.seal('whsec_test', sealContext({ workspace_id, id: one })))
  await db`
    insert into webhook_endpoints (workspace_id, id, url, events, secret, created_at)
    select e.workspace_id, n.id, n.url, e.events, n.secret, now()
    from webhook_endpoints e
    cross join unnest(${ids}::uuid[], ${[...urls]}::text[], ${secrets}::text[]) as n (id, url, secret)
    where e.id = ${id}`
  return ids
}

/** Holds the locks that `pg_dump` takes. Returns a function that releases them. */
export async function startBackup(database: TestDatabase): Promise<() => Promise<void>> {
  const db = database.connect(1)
  const tables = await db<{ name: string }[]>`
    select format('%I', relname) as name from pg_class
    where relkind in ('r', 'p') and relnamespace = current_schema()::regnamespace`
  return holdTransaction(db, `lock table ${pluck(tables, 'name').join(', ')} in access share mode`)
}

/** The days that have a partition of events or attempts. */
export async function listDays(db: Db, table = 'webhook_events'): Promise<string[]> {
  const rows = await db<{ day: string }[]>`
    select right(i.inhrelid::regclass::text, 8) as day from pg_inherits i
    where i.inhparent = ${table}::regclass and i.inhrelid::regclass::text not like '%_rest'
    order by day`
  return rows.map(({ day }) => day)
}
