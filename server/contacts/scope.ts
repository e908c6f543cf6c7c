/**
 * User ids of customers and names of templates are unique per provider account only. Those of the first account of a channel are
 * stored as they are; those of a further account have its scope and a slash before them.
 */
import type { Fragment, Sql } from '../lib/postgres/db.ts'

/** A scope is the provider's id of an account. */
const scopePattern = /^(\d{1,32})\//

export const withScope = (scope: string, text: string): string => (scope === '' ? text : `${scope}/${text}`)

/** The id or name as the provider knows it. */
export const withoutScope = (stored: string): string => stored.replace(scopePattern, '')

export const scopeOf = (stored: string): string => scopePattern.exec(stored)?.[1] ?? ''

export const isInScope = (scope: string, stored: string): boolean => scopeOf(stored) === scope

/**
 * The user id, as it is stored, by which the provider account with this scope knows contact `c`; null when it does not. A scalar
 * subquery is never hashed: each is one lookup in the index by contact. Without statistics the planner could as well read all identities
 * of the channel from the primary key, so the channel is no condition on an index, and there is no `order by … limit 1`.
 */
export const userIdOf = (sql: Sql, scope: string): Fragment => sql`(
  select (array_agg(i.external_id order by i.external_id))[1] from contact_identities i
  where i.workspace_id = c.workspace_id and i.contact_id = c.id and i.channel || '' = 'msgapp'
    and i.external_id ~ ${scope === '' ? '^(?!\\+|[0-9]{1,32}/)' : `^${scope}/`}
)`
