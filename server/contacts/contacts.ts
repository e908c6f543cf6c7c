/**
 * Contacts: the people a workspace talks to.
 *
 * A contact is found by an identity on a channel (`contact_identities`), never by a part of a phone number. Texts that are
 * compared without regard to case are also stored folded (`…_key`), and together in `search`.
 */
import { notFound } from '../lib/errors.ts'
import { isUuid } from '../lib/id.ts'
import { type Page, type Position, toPage, top } from '../lib/page.ts'
import { readValues } from '../lib/page-text.ts'
import { type ChangePosition, changedUs, isChangedAfter, listChanges } from '../lib/postgres/changes.ts'
import { type Fragment, plannedPerCall, type Sql } from '../lib/postgres/db.ts'
import type { SlowReads } from '../lib/postgres/slow-reads.ts'
import { escapeLike, fold, lengthOf } from '../lib/text.ts'
import { identityOfPhone } from './phone.ts'
import { type ChannelName, type Contact, memberContact, publicContact } from './resource.ts'

export const textFields = ['name', 'email', 'company'] as const
export type TextField = (typeof textFields)[number]

/** The longest texts of a contact, in characters. */
export const contactLimits = { name: 500, email: 320, company: 500 } as const

export type ContactFilters = {
  search?: string | undefined
  /** The exact number, in E.164. */
  phone?: string | undefined
  /** The exact address, without regard to case. */
  email?: string | undefined
  /** A tag's id or name. */
  tag?: string | undefined
  channel?: ChannelName | undefined
  /** Only contacts that opted out of broadcasts. */
  isOptedOut?: boolean | undefined
}

export async function listContacts(
  sql: Sql,
  workspaceId: string,
  filters: ContactFilters,
  position: Position,
): Promise<Page<Contact>> {
  return listContactsWhere(sql, workspaceId, matchesFilters(sql, workspaceId, filters), position)
}

/** `listContacts` with the public fields only, as bytes. */
export async function listPublicContacts(
  sql: Sql,
  workspaceId: string,
  filters: ContactFilters,
  { limit, before }: Position,
): Promise<Page<Contact>> {
  const rows = await readValues(sql`
    select ${publicContact.rowColumns(sql)}
    from contacts c
    where c.workspace_id = ${workspaceId} and c.id < ${before} and ${matchesFilters(sql, workspaceId, filters)}
    order by c.id desc
    limit ${limit + 1}`)
  return publicContact.writePage(sql, workspaceId, rows, limit)
}

/** Condition on contact `c`: it matches all filters. */
export function matchesFilters(sql: Sql, workspaceId: string, filters: ContactFilters): Fragment {
  const conditions: Fragment[] = []
  if (filters.search) conditions.push(matches(sql, filters.search))
  if (filters.phone) conditions.push(hasPhone(sql, workspaceId, filters.phone))
  if (filters.email) conditions.push(hasEmail(sql, filters.email.trim()))
  if (filters.tag) conditions.push(hasTag(sql, workspaceId, filters.tag))
  if (filters.channel) conditions.push(hasChannel(sql, filters.channel))
  if (filters.isOptedOut) conditions.push(sql`c.opted_out_at is not null`)
  return conditions.reduce((one, other) => sql`${one} and ${other}`, sql`true`)
}

/** One page of the contacts that match the filters and changed after a position, oldest change first. */
export async function listChangedContacts(
  sql: Sql,
  workspaceId: string,
  filters: ContactFilters,
  position: ChangePosition,
): Promise<Page<Contact>> {
  return listChanges(sql, position, async () => {
    const rows = await sql`
        select ${memberContact.rowColumns(sql)}, ${changedUs(sql, sql`c.updated_at`)}
        from contacts c
        where c.workspace_id = ${workspaceId} and ${isChangedAfter(sql, sql`c.updated_at`, sql`c.id`, position)}
          and ${matchesFilters(sql, workspaceId, filters)}
        order by c.updated_at, c.id
        limit ${position.limit + 1}`
    return memberContact.fillLists<Contact & { changed_us: number }>(sql, workspaceId, rows)
  })
}

/** One page of the contacts `c` that meet a condition, newest first. */
export async function listContactsWhere(
  sql: Sql,
  workspaceId: string,
  condition: Fragment,
  { limit, before }: Position,
): Promise<Page<Contact>> {
  const rows = await sql`
    select ${memberContact.rowColumns(sql)}
    from contacts c
    where c.workspace_id = ${workspaceId} and c.id < ${before} and ${condition}
    order by c.id desc
    limit ${limit + 1}`
  return toPage(await memberContact.fillLists<Contact>(sql, workspaceId, rows), limit)
}

/** All contacts `c` that meet a condition, newest first, in chunks. No connection is held between two chunks. */
export async function* readContactChunks(
  slow: SlowReads,
  workspaceId: string,
  condition: Fragment,
  chunkSize: number,
): AsyncGenerator<Contact[]> {
  let before = top
  for (;;) {
    const position = { limit: chunkSize, before }
    const { data } = await slow(workspaceId, (sql) => listContactsWhere(sql, workspaceId, condition, position))
    const last = data.at(-1)
    if (!last) return
    yield data
    before = last.id
  }
}

export async function countContacts(sql: Sql, workspaceId: string, condition: Fragment): Promise<number> {
  const [counted] = await sql<{ count: number }[]>`
    select count(*)::int as count from contacts c where c.workspace_id = ${workspaceId} and ${condition}`
  return counted?.count ?? 0
}

/** Counting stops here, because it is not free: 20 ms from the index. */
export const maxCountedContacts = 100_000

/** How many contacts `c` meet a condition, at most `maxCountedContacts`. */
export async function countUpToMax(sql: Sql, workspaceId: string, condition: Fragment): Promise<number> {
  const [counted] = await sql<{ count: number }[]>`
    select count(*)::int as count
    from (select from contacts c where c.workspace_id = ${workspaceId} and ${condition} limit ${maxCountedContacts}) counted`
  return counted?.count ?? 0
}

export async function requireContact(sql: Sql, workspaceId: string, id: string): Promise<Contact> {
  const [contact] = isUuid(id)
    ? await sql<Contact[]>`
        select ${memberContact.columns(sql)} from contacts c where c.workspace_id = ${workspaceId} and c.id = ${id}`
    : []
  if (!contact) throw notFound('contact')
  return contact
}

/** `identityList`: the expression of the identities of contact `c`. */
export async function requireContactWithIdentities(
  sql: Sql,
  workspaceId: string,
  id: string,
  identityList: (sql: Sql) => Fragment,
): Promise<Contact> {
  const [contact] = isUuid(id)
    ? await sql<Contact[]>`
        select ${memberContact.columns(sql)}, ${identityList(sql)} as identities
        from contacts c where c.workspace_id = ${workspaceId} and c.id = ${id}`
    : []
  if (!contact) throw notFound('contact')
  const { phone, identities = [] } = contact
  // An identity has the canonical spelling of a number, the contact its own.
  const own = phone && identityOfPhone(phone)
  const spell = (address: string) => (phone && address === own ? phone : address)
  return { ...contact, identities: identities.map((each) => ({ ...each, address: spell(each.address) })) }
}

/** Deletes a contact with its identities, tags and memberships. Returns false when it does not exist. */
export async function deleteContact(sql: Sql, workspaceId: string, id: string): Promise<boolean> {
  const deleted = await sql`delete from contacts where workspace_id = ${workspaceId} and id = ${id} returning id`
  return deleted.length > 0
}

/** Condition on contact `c`: it has the tag with this id or name. */
export function hasTag(sql: Sql, workspaceId: string, tag: string): Fragment {
  // The ids of the tags are an array, so that the planner reads only their rows of the index.
  return plannedPerCall(
    sql,
    sql`exists (
      select from contact_tags ct
      where ct.workspace_id = c.workspace_id and ct.contact_id = c.id and ct.tag_id = any(array(
        select t.id from tags t
        where t.workspace_id = ${workspaceId}
          and (t.name_key = ${fold(tag.trim())} or t.id = ${isUuid(tag) ? tag : null}::uuid)
      ))
    )`,
  )
}

/** Condition on contact `c`: it can be reached on this channel. */
export function hasChannel(sql: Sql, channel: string): Fragment {
  return plannedPerCall(
    sql,
    sql`exists (
      select from contact_identities i
      where i.workspace_id = c.workspace_id and i.contact_id = c.id and i.channel = ${channel}
    )`,
  )
}

export async function getContactByIdentity(
  sql: Sql,
  workspaceId: string,
  channel: ChannelName,
  externalId: string,
): Promise<Contact | undefined> {
  const [contact] = await sql<Contact[]>`
    select ${memberContact.columns(sql)}
    from contact_identities i
    join contacts c on c.workspace_id = i.workspace_id and c.id = i.contact_id
    where i.workspace_id = ${workspaceId} and i.channel = ${channel} and i.external_id = ${externalId}`
  return contact
}

/** Condition on contact `c`: this is its number, in any equivalent spelling. */
function hasPhone(sql: Sql, workspaceId: string, phone: string): Fragment {
  return sql`c.id = (
    select i.contact_id from contact_identities i
    where i.workspace_id = ${workspaceId} and i.channel = 'msgapp' and i.external_id = ${identityOfPhone(phone)}
  )`
}

/** Condition on contact `c`: this is its e-mail address. The search index finds the few candidates. */
function hasEmail(sql: Sql, email: string): Fragment {
  return sql`${matches(sql, email)} and c.email_key = ${fold(email)}`
}

/**
 * Condition on contact `c`: one of its texts contains this. One or two characters would match nearly all contacts, so they
 * match beginnings only. A phone number is found as people write it, with spaces, brackets and hyphens, and a username of the primary
 * channel with or without its @.
 */
export function matches(sql: Sql, search: string): Fragment {
  return plannedPerCall(sql, toSearchCondition(sql, search))
}

function toSearchCondition(sql: Sql, search: string): Fragment {
  const text = fold(search).replaceAll('\n', ' ')
  const username = /^@?([\p{L}\p{N}._-]+)$/u.exec(text)?.[1]
  if (lengthOf(search) < 3) {
    const begins = sql`c.search like ${`%\n${escapeLike(text)}%`}`
    return username ? sql`(${begins} or c.username_key like ${`${escapeLike(username)}%`})` : begins
  }
  const number = text.replace(/[\s()./-]/g, '')
  if (/^\+?\d{3,}$/.test(number)) {
    return number === text
      ? containsNumber(sql, number)
      : sql`(${contains(sql, text)} or ${containsNumber(sql, number)})`
  }
  const isFound = contains(sql, text)
  return username ? sql`(${isFound} or c.username_key like ${`%${escapeLike(username)}%`})` : isFound
}

const contains = (sql: Sql, text: string): Fragment => sql`c.search like ${`%${escapeLike(text)}%`}`

/**
 * Groups of three digits are in every number, and the index weighs each group of a long number: 16 ms at a million contacts.
 * The last five digits alone leave a handful of rows to check, in 1 ms.
 */
function containsNumber(sql: Sql, number: string): Fragment {
  const digits = /^\+?\d+(\d{5})$/.exec(number)?.[1]
  if (!digits) return contains(sql, number)
  return sql`(c.search like ${`%${digits}%`} and strpos(c.search, ${number}) > 0)`
}
