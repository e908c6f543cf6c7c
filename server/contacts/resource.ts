/** The contact resource of the API, built in SQL, for responses and for events recorded by the same statement. */
import { type Fragment, isoTime, jsonObject, type Sql } from '../lib/db.ts'
import { resolveLists, splitList } from '../lib/id-lists.ts'
import { emit } from '../webhooks/emit.ts'
import { readTagsOf, type Tag, tagIds, tagsJson } from './tags.ts'

export const channels = ['msgapp', 'social', 'web'] as const
export type ChannelName = (typeof channels)[number]

/** The fields of contact `c`. `channels` replaces the stored ones when the same statement inserts the identities. */
export function contactColumns(sql: Sql, channels?: Fragment): Fragment {
  const stored = sql`array(
    select distinct i.channel from contact_identities i
    where i.workspace_id = c.workspace_id and i.contact_id = c.id
    order by i.channel
  )`
  return sql`
    c.id, c.phone, c.social_username, ${channels ?? stored} as channels, c.name, c.email, c.company, c.avatar_url,
    ${tagsJson(sql)} as tags, c.attributes, c.opted_out_at is not null as opted_out,
    ${isoTime(sql, sql`c.created_at`)} as created_at, ${isoTime(sql, sql`c.updated_at`)} as updated_at`
}

/** A contact as flat columns, for pages: the database writes them three times as fast as JSON. */
export type Flat<Contact> = Omit<Contact, 'channels' | 'tags'> & { channel_names: string; tag_ids: string }

/** The fields of contact `c` for `writePage`, and with `opted_out_at` and `opted_out_by` for `toContacts`. */
export const contactRowColumns = (sql: Sql): Fragment => sql`
  c.id, c.phone, c.social_username,
  array_to_string(array(
    select i.channel from contact_identities i where i.workspace_id = c.workspace_id and i.contact_id = c.id
  ), ' ') as channel_names,
  c.name, c.email, c.company, c.avatar_url, ${tagIds(sql)} as tag_ids, c.attributes,
  c.opted_out_at is not null as opted_out, c.created_at, c.updated_at`

export async function toContacts<Contact extends { channels: string[]; tags: Tag[] }>(
  sql: Sql,
  workspaceId: string,
  rows: readonly Flat<Contact>[],
): Promise<Contact[]> {
  const lists = rows.map(({ tag_ids }) => tag_ids)
  const tagsOf = await resolveLists(lists, readTagsOf(sql, workspaceId))
  // Completes the rows in place: copying them takes longer than reading them.
  return rows.map((row) => {
    const channels = [...new Set(splitList(row.channel_names))].sort()
    return Object.assign(row, { channels, tags: tagsOf(row.tag_ids) }) as unknown as Contact
  })
}

/** A stored contact as JSON; null when it was erased. */
export const contactJson = (sql: Sql, workspaceId: Fragment, id: Fragment): Fragment => sql`(
  select ${jsonObject(sql, contactColumns(sql))} from contacts c where c.workspace_id = ${workspaceId} and c.id = ${id}
)`

/**
 * Members of a `with` list: `contact.created` for each row of `created c`, which has the columns of `contacts` that
 * `contactColumns` reads, and the `channel` that created the contact.
 */
export function emitCreated(sql: Sql, created: Fragment): Fragment {
  const keys = sql`c.id as contact_id, c.phone, c.name`
  const contact = sql`${jsonObject(sql, contactColumns(sql, sql`array[c.channel]`))} as contact`
  return emit(sql, {
    event: 'contact.created',
    workspaces: created,
    from: sql`${created} c`,
    workspaceId: sql`c.workspace_id`,
    occurredAt: sql`c.created_at`,
    data: sql`case when c.channel = 'social'
      then ${jsonObject(sql, sql`${keys}, c.social_username, ${contact}`)}
      else ${jsonObject(sql, sql`${keys}, ${contact}`)} end`,
  })
}

/**
 * Records `contact.created` for contacts of the primary channel. The transaction that created them without an event calls it
 * last, because the event contains the tags.
 */
export async function recordCreated(sql: Sql, workspaceId: string, ids: readonly string[]): Promise<void> {
  await sql`
    with created as (
      select c.workspace_id, c.id, c.phone, c.social_username, c.name, c.email, c.company, c.avatar_url, c.attributes,
        c.opted_out_at, c.created_at, c.updated_at, 'msgapp' as channel
      from contacts c
      where c.workspace_id = ${workspaceId} and c.id = any(${[...ids]}::uuid[])
      order by c.id
    ),
    ${emitCreated(sql, sql`created`)}
    select 1`
}
