/**
 * API keys: shown once, at creation, and stored as a hash.
 *
 * A key acts on one workspace with its scopes, until it is revoked or expires. Both are final; the row stays for the record. Its
 * name, scopes and expiry can change before that, and the next request is checked against them.
 */

import { nowMs } from '../lib/clock.ts'
import { randomToken, sha256 } from '../lib/crypto.ts'
import { badRequest, notFound } from '../lib/errors.ts'
import { isUuid, newId, timeOfId } from '../lib/id.ts'
import type { Fragment, Sql } from '../lib/postgres/db.ts'
import { Column, resource } from '../lib/resource.ts'
import { DateTime, NullableDateTime, OneOf, type Static, Type, Uuid } from '../lib/schema.ts'
import { lengthOf } from '../lib/text.ts'

export const scopes = [
  'messages:send',
  'messages:read',
  'contacts:read',
  'contacts:write',
  'contacts:erase',
  'conversations:read',
  'conversations:write',
  'broadcasts:send',
  'automations:manage',
  'webhooks:manage',
] as const

export type Scope = (typeof scopes)[number]

const stateOf = (sql: Sql): Fragment => sql`
  case when k.revoked_at is not null then 'revoked' when k.expires_at <= now() then 'expired' else 'active' end`

export const KeySchema = Type.Object({
  id: Uuid,
  name: Type.String(),
  prefix: Type.String(),
  scopes: Type.Array(Type.String()),
  created_at: DateTime,
  last_used_at: NullableDateTime,
  expires_at: NullableDateTime,
  state: Column(OneOf(['active', 'revoked', 'expired']), stateOf),
})
export type ApiKey = Static<typeof KeySchema>

/** The fields of key `k`. */
const { columns: keyColumns } = resource('k', KeySchema)

const prefixLength = 16
/** Of active keys: revoked and expired ones stay for the record. */
const maxKeys = 10_000
/** With revoked and expired ones: a program that creates and revokes keys must not fill the database. */
const maxKept = 100_000
/** Of revoked and expired keys, in the list. */
const maxEnded = 1_000

/** All active keys, and the newest of the others. Newest first. */
export async function listKeys(sql: Sql, workspaceId: string): Promise<ApiKey[]> {
  return sql<ApiKey[]>`
    with keys as (
      select ${keyColumns(sql)} from api_keys k where k.workspace_id = ${workspaceId}
    )
    select * from keys where state = 'active'
    union all
    (select * from keys where state <> 'active' order by id desc limit ${maxEnded})
    order by id desc`
}

/** The names of keys by id. Keys are never deleted. */
export async function readKeyNames(
  sql: Sql,
  workspaceId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map()
  const keys = await sql<{ id: string; name: string }[]>`
    select id, name from api_keys where workspace_id = ${workspaceId} and id = any(${[...new Set(ids)]}::uuid[])`
  return new Map(keys.map(({ id, name }) => [id, name]))
}

type NewKey = {
  name: string
  scopes: readonly string[]
  created_by: string | null
  expires_at?: string | null | undefined
}

/** Gives a key every scope, also those that are newer than the key. For the key of the demo. */
export async function extendScopes(sql: Sql, workspaceId: string, key: string): Promise<void> {
  await sql`
    update api_keys set scopes = ${[...scopes]}::text[]
    where workspace_id = ${workspaceId} and key_hash = ${sha256(key)} and not scopes @> ${[...scopes]}::text[]`
}

/** Creates a key. Only this call returns its text. */
export async function createKey(sql: Sql, workspaceId: string, input: NewKey): Promise<ApiKey & { key: string }> {
  const key = `svc_live_${randomToken()}`
  const expires_at = requireFuture(input.expires_at)
  return { ...(await insertKey(sql, workspaceId, key, { ...input, expires_at })), key }
}

/** How long the key of the API reference is valid at most. The page revokes it when it is closed, and makes another when it has expired. */
const temporaryMs = 15 * 60_000

/** Condition on key `k`: a member made it for a program. Those of a demo have no creator. */
export const isForProgram = (sql: Sql): Fragment => sql`
  k.created_by is not null
  and (k.expires_at is null or k.expires_at > k.created_at + make_interval(secs => ${temporaryMs / 1000}))`

/** Creates the key with which a member tries calls in the API reference. */
export function createTemporaryKey(
  sql: Sql,
  workspaceId: string,
  { scopes, created_by }: Pick<NewKey, 'scopes' | 'created_by'>,
): Promise<ApiKey & { key: string }> {
  const expires_at = new Date(nowMs() + temporaryMs).toISOString()
  return createKey(sql, workspaceId, { name: 'API reference', scopes, created_by, expires_at })
}

type ImportedKey = { name: string; key: string; scopes: readonly string[]; expires_at: string | null }

/** Shorter keys could be guessed. */
const legacyKey = /^legacy_live_[\x21-\x7e]{16,200}$/

/** Imports a key from before the product was renamed, unchanged. */
export async function importKey(sql: Sql, workspaceId: string, input: ImportedKey): Promise<ApiKey> {
  if (!legacyKey.test(input.key)) {
    throw badRequest('key: must start with legacy_live_, followed by 16 to 200 printable characters')
  }
  return insertKey(sql, workspaceId, input.key, { ...input, created_by: null })
}

type KeyChanges = {
  name?: string | undefined
  scopes?: readonly string[] | undefined
  /** Null: never. */
  expires_at?: string | null | undefined
}

/** Changes an active key. */
export async function updateKey(sql: Sql, workspaceId: string, id: string, changes: KeyChanges): Promise<ApiKey> {
  const { name, scopes: wanted, expires_at } = changes
  const newName = name === undefined ? null : requireName(name)
  const newScopes = wanted === undefined ? null : requireScopes(wanted)
  const newExpiry = requireFuture(expires_at)
  const [key] = isUuid(id)
    ? await sql<ApiKey[]>`
        update api_keys k set
          name = coalesce(${newName}, k.name),
          scopes = coalesce(${newScopes}::text[], k.scopes),
          expires_at = case when ${expires_at === undefined} then k.expires_at else ${newExpiry}::timestamptz end
        where k.workspace_id = ${workspaceId} and k.id = ${id} and ${stateOf(sql)} = 'active'
        returning ${keyColumns(sql)}`
    : []
  if (key) return key
  const [ended] = isUuid(id) ? await sql`select 1 from api_keys where workspace_id = ${workspaceId} and id = ${id}` : []
  throw ended ? badRequest('key: revoked or expired; create a new one') : notFound('key')
}

export async function revokeKey(sql: Sql, workspaceId: string, id: string): Promise<ApiKey> {
  const [key] = isUuid(id)
    ? await sql<ApiKey[]>`
        update api_keys k set revoked_at = coalesce(k.revoked_at, now())
        where k.workspace_id = ${workspaceId} and k.id = ${id}
        returning ${keyColumns(sql)}`
    : []
  if (!key) throw notFound('key')
  return key
}

async function insertKey(
  sql: Sql,
  workspaceId: string,
  key: string,
  input: NewKey & { expires_at: string | null },
): Promise<ApiKey> {
  const name = requireName(input.name)
  const id = newId()
  const [row] = await sql<ApiKey[]>`
    insert into api_keys as k (workspace_id, id, name, prefix, key_hash, scopes, created_by, created_at, expires_at)
    select ${workspaceId}, ${id}, ${name}, ${key.slice(0, prefixLength)}, ${sha256(key)},
      ${requireScopes(input.scopes)}, ${input.created_by}, ${timeOfId(id)}, ${input.expires_at}
    where (
      select count(*) < ${maxKept} and count(*) filter (where ${stateOf(sql)} = 'active') < ${maxKeys}
      from api_keys k where k.workspace_id = ${workspaceId}
    )
    on conflict (key_hash) do nothing
    returning ${keyColumns(sql)}`
  if (!row) {
    const [active, kept] = [maxKeys, maxKept].map((count) => count.toLocaleString('en'))
    throw badRequest(`key: exists already, or the workspace has ${active} active keys, or ${kept} with revoked ones`)
  }
  return row
}

function requireName(input: string): string {
  const name = input.trim()
  if (name === '') throw badRequest('name: must not be blank')
  if (lengthOf(name) > 80) throw badRequest('name: must have at most 80 characters')
  return name
}

/** The scopes in the order of the list, each once. */
function requireScopes(input: readonly string[]): Scope[] {
  const unknown = input.find((scope) => !scopes.some((known) => known === scope))
  if (unknown !== undefined) throw badRequest(`scopes: unknown scope '${unknown}'; there are ${scopes.join(', ')}`)
  return scopes.filter((scope) => input.includes(scope))
}

/** The schema accepts a second 60, which is not a valid time. */
function requireFuture(expiresAt: string | null | undefined): string | null {
  if (expiresAt === null || expiresAt === undefined) return null
  if (!(Date.parse(expiresAt) > nowMs())) throw badRequest('expires_at: must be in the future')
  return expiresAt
}
