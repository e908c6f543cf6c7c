/**
 * Merging two contacts: the rows of contacts. Everything of one contact moves to the other, whose own values win. The other rows move
 * in the same transaction (`merge-contacts.ts` has the order).
 */
import { giveRuns } from '../automation/move-runs.ts'
import { maxAttributes } from '../contacts/attributes.ts'
import { maxTags } from '../contacts/tags.ts'
import { giveChanges } from '../imports/changes.ts'
import { badRequest, notFound } from '../lib/errors.ts'
import type { Sql } from '../lib/postgres/db.ts'
import { giveRatings } from '../satisfaction/move-ratings.ts'

/** Two contacts of a workspace: `fromId` is merged into `toId` and is gone afterwards. */
export type Merge = { toId: string; fromId: string }

/** Locks both contacts: until the transaction ends they get no identity and no conversation. 404 when one is missing. */
export async function lockMerged(sql: Sql, workspaceId: string, { toId, fromId }: Merge): Promise<void> {
  const locked = await sql`
    select id from contacts
    where workspace_id = ${workspaceId} and id = any(${[toId, fromId]}::uuid[])
    order by id
    for update`
  if (locked.length < 2) throw notFound('contact')
}

/** Throws 400 when the merged contact would have too many tags or attributes: nothing is dropped silently. */
export async function requireWithinLimits(sql: Sql, workspaceId: string, { toId, fromId }: Merge): Promise<void> {
  const [count] = await sql<{ tags: number; attributes: number }[]>`
    select
      (
        select count(distinct tag_id)::int from contact_tags
        where workspace_id = ${workspaceId} and contact_id = any(${[toId, fromId]}::uuid[])
      ) as tags,
      (
        select count(distinct a.name)::int from contacts c
        cross join lateral jsonb_object_keys(c.attributes) as a (name)
        where c.workspace_id = ${workspaceId} and c.id = any(${[toId, fromId]}::uuid[])
      ) as attributes`
  if (count && count.tags > maxTags) throw badRequest(`tags: the merged contact would have more than ${maxTags}`)
  if (count && count.attributes > maxAttributes) {
    throw badRequest(`attributes: the merged contact would have more than ${maxAttributes}`)
  }
}

/** Moves fields, identities, tags, notes and what imports changed, and deletes the merged contact. The caller has locked both. */
export async function mergeContactRows(sql: Sql, workspaceId: string, { toId, fromId }: Merge): Promise<void> {
  await sql`
    update contact_identities set contact_id = ${toId}
    where workspace_id = ${workspaceId} and contact_id = ${fromId}`
  await sql`
    update contact_notes set contact_id = ${toId}
    where workspace_id = ${workspaceId} and contact_id = ${fromId}`
  await sql`
    insert into contact_tags (workspace_id, contact_id, tag_id)
    select workspace_id, ${toId}, tag_id from contact_tags
    where workspace_id = ${workspaceId} and contact_id = ${fromId}
    on conflict do nothing`
  await sql`
    update contacts c set
      phone = coalesce(c.phone, f.phone), avatar_url = coalesce(c.avatar_url, f.avatar_url),
      name = coalesce(c.name, f.name), name_key = coalesce(c.name_key, f.name_key),
      email = coalesce(c.email, f.email), email_key = coalesce(c.email_key, f.email_key),
      typed_email_key = case when c.email is null then f.typed_email_key else c.typed_email_key end,
      company = coalesce(c.company, f.company), company_key = coalesce(c.company_key, f.company_key),
      social_username = coalesce(c.social_username, f.social_username),
      social_username_key = coalesce(c.social_username_key, f.social_username_key),
      username = coalesce(c.username, f.username), username_key = coalesce(c.username_key, f.username_key),
      attributes = f.attributes || c.attributes,
      -- A person who opted out as one of the two contacts gets no broadcasts.
      opted_out_at = coalesce(c.opted_out_at, f.opted_out_at), opted_out_by = coalesce(c.opted_out_by, f.opted_out_by),
      opt_out_decided_at = greatest(c.opt_out_decided_at, f.opt_out_decided_at),
      updated_at = clock_timestamp()
    from contacts f
    where c.workspace_id = ${workspaceId} and c.id = ${toId} and f.workspace_id = ${workspaceId} and f.id = ${fromId}`
  await giveRuns(sql, workspaceId, fromId, toId)
  await giveRatings(sql, workspaceId, fromId, toId)
  await sql`delete from contacts where workspace_id = ${workspaceId} and id = ${fromId}`
  await giveChanges(sql, workspaceId, fromId, toId)
}
