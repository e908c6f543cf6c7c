/**
 * Webhook endpoints: the URLs that a workspace registers, and the events they are subscribed to.
 *
 * The guard checks a URL when it is registered or changed, and again at every attempt. A secret is shown once, at creation or
 * rotation, and stored sealed. After a rotation with an overlap, the earlier secrets sign beside the new one until their time
 * ends. Deactivating or deleting an endpoint cancels its queued deliveries. Statements that queue deliveries lock
 * the endpoint's row, so none is queued after the cancellation.
 */
import { isManager, type MemberRole } from '../accounts/members.ts'
import { randomToken, type SealContext, type Sealer } from '../lib/crypto.ts'
import { badRequest, notFound } from '../lib/errors.ts'
import { isUuid, newId, timeOfId } from '../lib/id.ts'
import { type Db, type Fragment, requireRow, type Sql } from '../lib/postgres/db.ts'
import { cancelDeliveries } from './cancel.ts'
import type { EventName } from './emit.ts'
import type { Guard } from './guard.ts'
import { type Endpoint, endpointColumns, type Provider } from './resource.ts'

export const hostOf = (url: string): string => new URL(url).host

/** An endpoint as the member sees it. The URLs of some tools are secrets, so members who do not manage the workspace see the host. */
export const shownTo = <Shown extends Pick<Endpoint, 'url'>>(member: { role: MemberRole }, endpoint: Shown): Shown =>
  isManager(member) ? endpoint : { ...endpoint, url: hostOf(endpoint.url) }

export const maxEndpoints = 100
/** Bounds the length of the signature header. */
const maxOldSecrets = 4

export type NewEndpoint = { url: string; events: readonly EventName[]; provider: Provider }

/** Creates an endpoint. Only this call returns the secret. */
export async function createEndpoint(
  db: Db,
  sealer: Sealer,
  guard: Guard,
  workspaceId: string,
  { events, provider, ...input }: NewEndpoint,
): Promise<Endpoint & { secret: string }> {
  const url = await requireTarget(guard, input.url)
  const secret = createSecret()
  const endpoint = await db.begin(async (sql) => {
    // Serializes creations in a workspace, so that the limit is exact. No other statement waits for this lock.
    await sql`select 1 from workspaces where id = ${workspaceId} for no key update`
    const id = newId()
    const sealed = sealer.seal(secret, sealContext({ workspace_id: workspaceId, id }))
    const [created] = await sql<Endpoint[]>`
      insert into webhook_endpoints as e (workspace_id, id, url, events, provider, secret, created_at)
      select ${workspaceId}, ${id}, ${url}, ${[...new Set(events)]}, ${provider}, ${sealed}, ${timeOfId(id)}
      where (select count(*) from webhook_endpoints where workspace_id = ${workspaceId}) < ${maxEndpoints}
      returning ${endpointColumns(sql)}`
    return created
  })
  if (!endpoint) throw badRequest(`webhooks: at most ${maxEndpoints} in a workspace`)
  return { ...endpoint, secret }
}

const createSecret = (): string => `whsec_${randomToken()}`

/**
 * Replaces the secret. Only this call returns the new one. For `overlapHours` the previous secret also signs; with 0, all earlier
 * secrets stop at once. Deliveries in flight are signed with the secrets of the moment they were claimed.
 */
export async function rotateSecret(
  db: Db,
  sealer: Sealer,
  workspaceId: string,
  id: string,
  overlapHours: number,
): Promise<Endpoint & { secret: string }> {
  const secret = createSecret()
  return db.begin(async (sql) => {
    const endpoint = await lockEndpoint(sql, workspaceId, id)
    const [rotated] = await sql<Endpoint[]>`
      -- The earlier secrets that stay valid, the current one last.
      with kept_secrets as (
        select o.secret, o.until, o.position
        from webhook_endpoints e
        cross join unnest(e.old_secrets, e.old_secrets_until) with ordinality as o (secret, until, position)
        where e.workspace_id = ${workspaceId} and e.id = ${endpoint.id} and o.until > now() and ${overlapHours}::int > 0
        union all
        select secret, now() + make_interval(hours => ${overlapHours}::int), ${maxOldSecrets + 1}
        from webhook_endpoints
        where workspace_id = ${workspaceId} and id = ${endpoint.id} and ${overlapHours}::int > 0
      )
      update webhook_endpoints e set
        secret = ${sealer.seal(secret, sealContext({ workspace_id: workspaceId, id: endpoint.id }))},
        (old_secrets, old_secrets_until) = (
          select array_agg(k.secret order by k.position), array_agg(k.until order by k.position) from kept_secrets k
        )
      where workspace_id = ${workspaceId} and id = ${endpoint.id}
        and (select count(*) from kept_secrets) <= ${maxOldSecrets}
      returning ${endpointColumns(sql)}`
    if (!rotated) {
      throw badRequest(`overlap_hours: ${maxOldSecrets} earlier secrets are still valid; wait, or end them with 0`)
    }
    return { ...rotated, secret }
  })
}

/** Deletes earlier secrets whose time has ended. */
export async function sweepOldSecrets(sql: Sql): Promise<void> {
  await sql`
    with expired as (
      select workspace_id, id from webhook_endpoints
      where now() >= any(old_secrets_until)
      order by workspace_id, id
      for update skip locked
    )
    update webhook_endpoints e set
      (old_secrets, old_secrets_until) = (
        select array_agg(o.secret order by o.position), array_agg(o.until order by o.position)
        from unnest(e.old_secrets, e.old_secrets_until) with ordinality as o (secret, until, position) where o.until > now()
      )
    from expired x
    where e.workspace_id = x.workspace_id and e.id = x.id`
}

/** The context that the secret of an endpoint is sealed with. */
export const sealContext = ({ workspace_id, id }: { workspace_id: string; id: string }): SealContext => [
  'webhook_endpoints',
  workspace_id,
  id,
]

/** All endpoints of a workspace, including those of integrations, newest first. */
export async function listEndpoints(sql: Sql, workspaceId: string): Promise<Endpoint[]> {
  return sql<Endpoint[]>`
    select ${endpointColumns(sql)} from webhook_endpoints e where e.workspace_id = ${workspaceId} order by e.id desc`
}

export async function getEndpoint(
  sql: Sql,
  workspaceId: string,
  id: string,
  lock: Fragment = sql``,
): Promise<Endpoint | undefined> {
  if (!isUuid(id)) return undefined
  const [endpoint] = await sql<Endpoint[]>`
    select ${endpointColumns(sql)} from webhook_endpoints e
    where e.workspace_id = ${workspaceId} and e.id = ${id} ${lock}`
  return endpoint
}

export async function requireEndpoint(
  sql: Sql,
  workspaceId: string,
  id: string,
  lock: Fragment = sql``,
): Promise<Endpoint> {
  const endpoint = await getEndpoint(sql, workspaceId, id, lock)
  if (!endpoint) throw notFound('webhook')
  return endpoint
}

export type EndpointChanges = {
  url?: string | undefined
  events?: readonly EventName[] | undefined
  is_active?: boolean | undefined
}

/** Changes the fields that are present. Activating clears the failures; deactivating cancels queued deliveries. */
export async function updateEndpoint(
  db: Db,
  guard: Guard,
  workspaceId: string,
  id: string,
  { events, is_active, ...input }: EndpointChanges,
): Promise<Endpoint> {
  const url = input.url === undefined ? undefined : await requireTarget(guard, input.url)
  // What was queued before an endpoint was deactivated is never sent.
  if (is_active && isUuid(id)) await cancelDeliveries(db, workspaceId, id, 'the endpoint was deactivated')
  const endpoint = await db.begin(async (sql) => {
    const endpoint = await lockEndpoint(sql, workspaceId, id)
    const changes = {
      ...(url === undefined ? {} : { url }),
      ...(events === undefined ? {} : { events: [...new Set(events)] }),
      ...(is_active === undefined ? {} : { is_active }),
      ...(is_active ? clearedFailures : {}),
    }
    if (Object.keys(changes).length === 0) return endpoint
    const [changed] = await sql<Endpoint[]>`
      update webhook_endpoints e set ${sql(changes)}
      where workspace_id = ${workspaceId} and id = ${id}
      returning ${endpointColumns(sql)}`
    return requireRow(changed, 'the locked endpoint')
  })
  if (is_active === false) await cancelDeliveries(db, workspaceId, id, 'the endpoint was deactivated')
  return endpoint
}

/** An activated endpoint starts without failures. */
const clearedFailures = {
  failure_count: 0,
  last_attempt_at: null,
  last_attempt_http_status: null,
  last_attempt_error: null,
}

export type DeletedEndpoint = { id: string; deleted: true; url: string }

export async function deleteEndpoint(db: Db, workspaceId: string, id: string): Promise<DeletedEndpoint> {
  const endpoint = await db.begin(async (sql) => {
    const endpoint = await lockEndpoint(sql, workspaceId, id)
    await sql`update webhook_endpoints set is_active = false where workspace_id = ${workspaceId} and id = ${id}`
    return endpoint
  })
  await cancelDeliveries(db, workspaceId, id, 'the endpoint was deleted')
  await db`delete from webhook_endpoints where workspace_id = ${workspaceId} and id = ${id}`
  return { id: endpoint.id, deleted: true, url: endpoint.url }
}

/** Throws unless the endpoint is active and its URL is still allowed. */
export async function requireReady(guard: Guard, { url, is_active }: Endpoint): Promise<void> {
  if (!is_active) throw badRequest('webhook: not active; switch it on first')
  await requireTarget(guard, url)
}

/** The URL to store: trimmed, and accepted by the guard in exactly this form. */
async function requireTarget(guard: Guard, input: string): Promise<string> {
  const url = input.trim()
  const target = await guard.check(url)
  if (!target.ok) throw badRequest(`url: ${target.reason}`)
  return url
}

/**
 * Locks the endpoint for a change in the caller's transaction. It waits for statements that are queueing deliveries. Endpoints are
 * locked before their deliveries, as in `settle.ts`.
 */
const lockEndpoint = (sql: Sql, workspaceId: string, id: string): Promise<Endpoint> =>
  requireEndpoint(sql, workspaceId, id, sql`for update`)
