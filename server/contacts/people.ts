/**
 * Resolves people in bulk, as channels identify them.
 *
 * A person on the primary channel has a number, a user id of the channel, or both; on the other channels a user id. Any of
 * these identities finds the contact, and further identities are added as they arrive. The first identity of a person is
 * unique: of concurrent callers that create the same person, the one that inserts it creates the contact.
 */
import { newId, timeOfId } from '../lib/id.ts'
import { changedAt } from '../lib/postgres/changes.ts'
import type { Sql } from '../lib/postgres/db.ts'
import { fold, foldOrNull, textOrNull } from '../lib/text.ts'
import type { Attributes } from './attributes.ts'
import { newOptOut } from './opt-out.ts'
import { identityOfPhone, withoutOldPrefix } from './phone.ts'
import { type ChannelName, emitCreated, memberContact, queueCreated } from './resource.ts'
import { withScope } from './scope.ts'

export type PersonRef = {
  workspace_id: string
  channel: ChannelName
  /** The connection of the conversation that is looked for; absent where it is not known. */
  connection_id?: string | null | undefined
  /** The scope of the user id (`scope.ts`); empty when absent. */
  scope?: string | undefined
  phone: string | null
  user_id: string | null
  name?: string | null
  email?: string | null
  company?: string | null
  username?: string | null
  avatar_url?: string | null
  attributes?: Attributes
  /** Opted out of broadcasts by the caller of the API. */
  opted_out?: boolean
}

/** The identities of a person as they are stored, the deciding one first. */
export function identitiesOf({ phone, user_id, scope = '' }: Pick<PersonRef, 'phone' | 'user_id' | 'scope'>): string[] {
  const identities = [phone && identityOfPhone(phone), user_id && withScope(scope, user_id)]
  return identities.filter((identity) => typeof identity === 'string' && identity !== '') as string[]
}

/** The user name on one channel: those of the social and of the primary channel are stored apart. */
const usernameOn = (on: ChannelName, { channel, username }: Pick<PersonRef, 'channel' | 'username'>): string | null =>
  (channel === on && username) || null

export type CreatedPerson = {
  workspace_id: string
  channel: ChannelName
  /** The deciding identity, and the other one. */
  external_id: string
  second_id: string | null
  contact_id: string
  phone: string | null
  name: string | null
  email: string | null
  social_username: string | null
  username: string | null
}

/**
 * Creates the contacts that do not exist, with all their identities. Returns only those that this call created. Without
 * `emits` the caller records the events in the same transaction.
 */
export async function createPeople(
  sql: Sql,
  people: readonly PersonRef[],
  { emits = true } = {},
): Promise<CreatedPerson[]> {
  const rows = people.map((person) => {
    const id = newId()
    const [external_id = '', second_id] = identitiesOf(person)
    const name = textOrNull(person.name) ?? undefined
    const email = textOrNull(person.email) ?? undefined
    const company = textOrNull(person.company) ?? undefined
    const socialUsername = usernameOn('social', person) ?? undefined
    const username = usernameOn('msgapp', person) ?? undefined
    // A field that is undefined is not in the JSON and null in the statement: most people have few.
    return {
      workspace_id: person.workspace_id,
      channel: person.channel,
      external_id,
      second_id,
      id,
      phone: person.phone ? withoutOldPrefix(person.phone) : undefined,
      name,
      name_key: name && fold(name),
      email,
      email_key: email && fold(email),
      company,
      company_key: company && fold(company),
      social_username: socialUsername,
      social_username_key: socialUsername && fold(socialUsername),
      username,
      username_key: username && fold(username),
      avatar_url: person.avatar_url || undefined,
      attributes: person.attributes,
      opted_out: person.opted_out,
      created_at: timeOfId(id),
    }
  })
  return sql<CreatedPerson[]>`
    with
    -- Each person once. Sorted, so that two batches cannot deadlock.
    input as (
      select distinct on (workspace_id, channel, external_id) *
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as i (
        workspace_id uuid, channel text, external_id text, second_id text, id uuid, phone text, name text, name_key text,
        email text, email_key text, company text, company_key text, social_username text, social_username_key text, username text,
        username_key text, avatar_url text, attributes jsonb, opted_out boolean, created_at timestamptz
      )
      order by workspace_id, channel, external_id, id
    ),
    -- The identities that no contact had: they decide which contacts are created.
    inserted_identities as (
      insert into contact_identities (workspace_id, channel, external_id, contact_id)
      select workspace_id, channel, external_id, id from input
      on conflict do nothing
      returning contact_id
    ),
    -- Their second identities. One that belongs to another contact stays there.
    inserted_second_identities as (
      insert into contact_identities (workspace_id, channel, external_id, contact_id)
      select i.workspace_id, i.channel, i.second_id, i.id
      from input i join inserted_identities n on n.contact_id = i.id
      where i.second_id is not null
      order by i.workspace_id, i.channel, i.second_id
      on conflict do nothing
    ),
    -- Their contacts.
    inserted_contacts as (
      insert into contacts as c (workspace_id, id, phone, name, name_key, email, email_key, company, company_key,
        social_username, social_username_key, username, username_key, avatar_url, attributes, opted_out_at, opted_out_by, opt_out_decided_at,
        created_at, updated_at, typed_email_key)
      select workspace_id, id, phone, name, name_key, email, email_key, company, company_key, social_username,
        social_username_key, username, username_key, avatar_url, coalesce(attributes, '{}'),
        ${newOptOut(sql, sql`opted_out`, 'api')}, created_at, ${changedAt(sql, sql`created_at`)},
        case when channel = 'web' then email_key end
      from input join inserted_identities on inserted_identities.contact_id = input.id
      returning c.workspace_id, ${memberContact.storedColumns(sql)}
    ),
    -- With the channel and the identity, for the event and the caller.
    created as (
      select c.workspace_id, ${memberContact.storedColumns(sql)}, i.channel, i.external_id, i.second_id
      from inserted_contacts c join input i on i.id = c.id
    )${emits ? sql`, ${queueCreated(sql, 'created')}, ${emitCreated(sql, 'created')}` : sql``}
    select workspace_id, channel, external_id, second_id, id as contact_id, phone, name, email, social_username, username
    from created`
}

export type PersonDetails = { workspace_id: string; contact_id: string; channel: ChannelName } & Pick<
  PersonRef,
  'scope' | 'phone' | 'user_id' | 'name' | 'email' | 'username' | 'avatar_url'
>

/**
 * Adds identities, and fields that are still empty. An identity that belongs to another contact stays there. A user name of the
 * primary channel replaces the former one: people change it.
 */
export async function enrichPeople(sql: Sql, people: readonly PersonDetails[]): Promise<void> {
  const identities = people.flatMap((person) =>
    identitiesOf(person).map((external_id) => ({ ...person, external_id, phone: undefined })),
  )
  const rows = people.map((person) => ({
    ...person,
    phone: person.phone && withoutOldPrefix(person.phone),
    name: textOrNull(person.name),
    name_key: foldOrNull(textOrNull(person.name)),
    email: textOrNull(person.email),
    email_key: foldOrNull(textOrNull(person.email)),
    social_username: usernameOn('social', person),
    social_username_key: foldOrNull(usernameOn('social', person)),
    username: usernameOn('msgapp', person),
    username_key: foldOrNull(usernameOn('msgapp', person)),
    phone_identity: person.phone && identityOfPhone(person.phone),
  }))
  const inserted = await sql<{ workspace_id: string; external_id: string }[]>`
    insert into contact_identities (workspace_id, channel, external_id, contact_id)
    select i.workspace_id, i.channel, i.external_id, i.contact_id
    from json_to_recordset(${JSON.stringify(identities)}::text::json) as i (
      workspace_id uuid, channel text, external_id text, contact_id uuid
    )
    -- A contact that was erased or merged meanwhile gets no identities. The lock waits for a transaction that does this.
    join contacts c on c.workspace_id = i.workspace_id and c.id = i.contact_id
    order by i.workspace_id, i.channel, i.external_id
    for key share of c
    on conflict do nothing
    returning workspace_id, external_id`
  await sql`
    with
    -- Each contact once.
    input as (
      select distinct on (workspace_id, contact_id) *
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as g (
        workspace_id uuid, contact_id uuid, channel text, phone text, phone_identity text, name text, name_key text,
        email text, email_key text, social_username text, social_username_key text, username text, username_key text,
        avatar_url text
      )
      order by workspace_id, contact_id
    )
    update contacts c set
      phone = coalesce(c.phone, i.phone),
      name = coalesce(c.name, g.name), name_key = coalesce(c.name_key, g.name_key),
      email = coalesce(c.email, g.email), email_key = coalesce(c.email_key, g.email_key),
      typed_email_key = case when c.email is null and g.channel = 'web' then g.email_key else c.typed_email_key end,
      social_username = coalesce(c.social_username, g.social_username),
      social_username_key = coalesce(c.social_username_key, g.social_username_key),
      username = coalesce(g.username, c.username), username_key = coalesce(g.username_key, c.username_key),
      avatar_url = coalesce(c.avatar_url, g.avatar_url),
      updated_at = clock_timestamp()
    from input g
    -- The number belongs to the contact only if its identity does.
    left join lateral (
      select g.phone from contact_identities i
      where i.workspace_id = g.workspace_id and i.channel = 'msgapp' and i.external_id = g.phone_identity
        and i.contact_id = g.contact_id
    ) i on true
    where c.workspace_id = g.workspace_id and c.id = g.contact_id and (
      c.phone is null and i.phone is not null or c.name is null and g.name is not null
      or c.email is null and g.email is not null or c.social_username is null and g.social_username is not null
      or c.username is distinct from coalesce(g.username, c.username)
      or c.avatar_url is null and g.avatar_url is not null
    )`
  const added = new Set(inserted.map(({ workspace_id, external_id }) => `${workspace_id} ${external_id}`))
  // Where both ids existed, they may belong to two contacts.
  const known = people.filter((person) =>
    identitiesOf(person).every((external_id) => !added.has(`${person.workspace_id} ${external_id}`)),
  )
  await recordNumbers(sql, known)
}

/**
 * Records the numbers that the channel names together with user ids of other contacts: `duplicates.ts` suggests to merge the two. Both
 * identities stay where they are.
 */
async function recordNumbers(sql: Sql, people: readonly PersonDetails[]): Promise<void> {
  const both = people.filter(({ channel, phone, user_id }) => channel === 'msgapp' && phone && user_id)
  if (both.length === 0) return
  await sql`
    -- Sorted, so that two batches cannot deadlock. A number that is erased or replaced meanwhile is skipped.
    with locked_identities as (
      select u.workspace_id, u.external_id, p.number
      from unnest(${both.map(({ workspace_id }) => workspace_id)}::uuid[],
        ${both.map(({ phone }) => phone && identityOfPhone(phone))}::text[],
        ${both.map(({ user_id, scope = '' }) => user_id && withScope(scope, user_id))}::text[])
        as p (workspace_id, number, user_id)
      join contact_identities n
        on n.workspace_id = p.workspace_id and n.channel = 'msgapp' and n.external_id = p.number
      join contact_identities u
        on u.workspace_id = p.workspace_id and u.channel = 'msgapp' and u.external_id = p.user_id
      where u.contact_id <> n.contact_id and u.reported_number is distinct from p.number
      order by u.workspace_id, u.external_id
      for key share of n for no key update of u
    )
    update contact_identities u set reported_number = l.number
    from locked_identities l
    where u.workspace_id = l.workspace_id and u.channel = 'msgapp' and u.external_id = l.external_id`
}

/**
 * Adds what a report with a number and a user id shows about a person who is known by one of them. Most are known by both, so this only
 * probes two indexes.
 */
export async function learnIdentities(sql: Sql, people: readonly PersonRef[]): Promise<void> {
  const found = await sql<{ index: number; contact_id: string }[]>`
    select (p.index - 1)::int as index, coalesce(n.contact_id, u.contact_id) as contact_id
    from unnest(${people.map(({ workspace_id }) => workspace_id)}::uuid[], ${people.map(({ channel }) => channel)}::text[],
      ${people.map(({ phone }) => phone && identityOfPhone(phone))}::text[],
      ${people.map(({ user_id, scope = '' }) => user_id && withScope(scope, user_id))}::text[])
      with ordinality as p (workspace_id, channel, number, user_id, index)
    left join contact_identities n
      on n.workspace_id = p.workspace_id and n.channel = p.channel and n.external_id = p.number
    left join contact_identities u
      on u.workspace_id = p.workspace_id and u.channel = p.channel and u.external_id = p.user_id
    where n.contact_id is distinct from u.contact_id and u.reported_number is distinct from p.number`
  const learnt = found.flatMap(({ index, contact_id }) => {
    const person = people[index]
    return person ? [{ ...person, contact_id }] : []
  })
  if (learnt.length > 0) await enrichPeople(sql, learnt)
}

/**
 * Replaces the number or user id of a person. A new identity that belongs to another contact stays there, and then the old
 * one is kept.
 */
export async function movePerson(
  sql: Sql,
  workspaceId: string,
  channel: ChannelName,
  from: Pick<PersonRef, 'phone' | 'user_id'>,
  to: Pick<PersonRef, 'phone' | 'user_id'>,
  scope = '',
): Promise<void> {
  const before = identitiesOf({ ...from, scope })
  const moves = [
    { old: from.phone && identityOfPhone(from.phone), new: to.phone && identityOfPhone(to.phone) },
    { old: from.user_id && withScope(scope, from.user_id), new: to.user_id && withScope(scope, to.user_id) },
  ].filter((move) => move.new && move.new !== move.old)
  if (before.length === 0 || moves.length === 0) return
  const phone = to.phone && withoutOldPrefix(to.phone)
  await sql`
    with
    -- The contact with one of the old identities.
    person as (
      select i.contact_id from contact_identities i
      join contacts c on c.workspace_id = i.workspace_id and c.id = i.contact_id
      where i.workspace_id = ${workspaceId} and i.channel = ${channel} and i.external_id = any(${before})
      order by array_position(${before}, i.external_id)
      limit 1
      for key share of c
    ),
    -- The old and new identities.
    moves as (
      select m.old, m.new
      from json_to_recordset(${JSON.stringify(moves)}::text::json) as m (old text, new text)
    ),
    -- The new identities that no contact had.
    inserted_identities as (
      insert into contact_identities (workspace_id, channel, external_id, contact_id)
      select ${workspaceId}, ${channel}, moves.new, person.contact_id from person, moves
      order by moves.new
      on conflict do nothing
      returning contact_id, external_id
    ),
    -- The old identities that they replace.
    deleted_identities as (
      delete from contact_identities i using inserted_identities a, moves
      where i.workspace_id = ${workspaceId} and i.channel = ${channel} and i.external_id = moves.old
        and moves.new = a.external_id and i.contact_id = a.contact_id
    )
    update contacts c set phone = ${phone}, updated_at = clock_timestamp()
    from inserted_identities a
    where c.workspace_id = ${workspaceId} and c.id = a.contact_id
      and a.external_id = ${phone && identityOfPhone(phone)}`
}
