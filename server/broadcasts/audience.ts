/**
 * The audience of a broadcast without a list of numbers: one segment, or all contacts or the members of any of several segments,
 * without the members of others. It is evaluated when sending starts.
 */
import { badRequest } from '../lib/errors.ts'
import { type Fragment, plannedPerCall, type Sql } from '../lib/postgres/db.ts'
import type { FilterFields } from '../segments/filter.ts'
import { requireMembership } from '../segments/segments.ts'

/** Without `segment_ids`: all contacts. */
export type Audience = { segment_ids: string[]; excluded_segment_ids: string[] }

export const maxSegments = 10

/** The columns of a broadcast, or the fields of a request, that name its audience. */
type AudienceSource = { segment_id?: string | null | undefined; audience?: Audience | null | undefined }

/** Undefined: the broadcast has a list. */
export const audienceOf = ({ segment_id: id, audience }: AudienceSource): Audience | undefined =>
  audience ?? (id ? { segment_ids: [id], excluded_segment_ids: [] } : undefined)

/** The fields to store: one segment without exceptions is a `segment_id`, which the public API shows. */
export function toColumns(source: AudienceSource): { segment_id: string | null; audience: Audience | null } {
  const audience = audienceOf(source)
  const [first = null, second] = audience?.segment_ids ?? []
  const isSegment = first !== null && second === undefined && audience?.excluded_segment_ids.length === 0
  return isSegment ? { segment_id: first, audience: null } : { segment_id: null, audience: audience ?? null }
}

/**
 * Condition on contact `c`: it is in the audience. 404 when a segment does not exist, also an excluded one: its members must not
 * get the broadcast. The result is an object: awaiting a fragment would run it.
 */
export async function requireAudience(
  sql: Sql,
  workspaceId: string,
  fields: FilterFields,
  { segment_ids, excluded_segment_ids }: Audience,
): Promise<{ condition: Fragment }> {
  if (segment_ids.some((id) => excluded_segment_ids.includes(id))) {
    throw badRequest('audience: a segment must not be both included and excluded')
  }
  const included = await anyOf(sql, workspaceId, fields, segment_ids)
  const excluded = await anyOf(sql, workspaceId, fields, excluded_segment_ids)
  // A condition on an empty field is null, which is not true.
  const without = excluded.condition ? sql`(${excluded.condition}) is not true` : sql`true`
  const condition = sql`((${included.condition ?? sql`true`}) and ${without})`
  // Each number of segments is a text of its own.
  const isComposed = segment_ids.length + excluded_segment_ids.length > 1
  return { condition: isComposed ? plannedPerCall(sql, condition) : condition }
}

async function anyOf(
  sql: Sql,
  workspaceId: string,
  fields: FilterFields,
  ids: readonly string[],
): Promise<{ condition?: Fragment }> {
  let condition: Fragment | undefined
  for (const id of new Set(ids)) {
    const segment = await requireMembership(sql, workspaceId, fields, id)
    const own = sql`(${segment.condition})`
    condition = condition ? sql`${condition} or ${own}` : own
  }
  return condition ? { condition } : {}
}
