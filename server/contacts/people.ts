/**
 * People in bulk, as channels name them: found by any of their names, made
 * once however many callers meet them first, and known by every name that
 * came along.
 *
 * A person on the primary channel has a number, a user id of the channel, or
 * both; on the others a user id. The first of a person's names decides: of two
 * that make the same person at once, the one whose name is entered first does.
 */
import type { Sql } from '../lib/db.ts'
import { newId, timeOfId } from '../lib/id.ts'
import { fold, textOrNull } from '../lib/text.ts'
import type { ChannelName } from './contacts.ts'
import { identityOfPhone, withoutOldPrefix } from './phone.ts'
import { emitCreated } from './resource.ts'

export type Who = {
  workspace_id: string
  channel: ChannelName
  phone: string | null
  user_id: string | null
  name?: string | null
  email?: string | null
  company?: string | null
  username?: string | null
  avatar_url?: string | null
}

/** Every name of a person, the deciding one first. */
export function identitiesOf({ phone, user_id }: Pick<Who, 'phone' | 'user_id'>): string[] {
  return [phone && identityOfPhone(phone), user_id].filter(
    (name) => typeof name === 'string' && name !== '',
  ) as string[]
}

/** The primary channel has user names too, but they are no social ones. */
const usernameOf = ({ channel, username }: Pick<Who, 'channel' | 'username'>): string | null =>
  (channel === 'social' && username) || null
const foldedOf = (text: string | null): string | null => (text === null ? null : fold(text))

export type Made = { workspace_id: string; channel: ChannelName; external_id: string; contact_id: string }

/**
 * Make those who are not there yet; answers only those made by this very call. Without `emits` the caller records the
 * events in the same transaction.
 */
export async function makePeople(sql: Sql, people: readonly Who[], { emits = true } = {}): Promise<Made[]> {
  const rows = people.map((who) => {
    const id = newId()
    const [external_id = ''] = identitiesOf(who)
    return {
      workspace_id: who.workspace_id,
      channel: who.channel,
      external_id,
      id,
      phone: who.phone && withoutOldPrefix(who.phone),
      name: textOrNull(who.name),
      name_key: foldedOf(textOrNull(who.name)),
      email: textOrNull(who.email),
      email_key: foldedOf(textOrNull(who.email)),
      company: textOrNull(who.company),
      company_key: foldedOf(textOrNull(who.company)),
      social_username: usernameOf(who),
      social_username_key: foldedOf(usernameOf(who)),
      avatar_url: who.avatar_url || null,
      created_at: timeOfId(id),
    }
  })
  return sql<Made[]>`
    with given as (
      select distinct on (workspace_id, channel, external_id) *
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as g (
        workspace_id uuid, channel text, external_id text, id uuid, phone text, name text, name_key text, email text,
        email_key text, company text, company_key text, social_username text, social_username_key text, avatar_url text,
        created_at timestamptz
      )
      order by workspace_id, channel, external_id, id
    ),
    named as (
      insert into contact_identities (workspace_id, channel, external_id, contact_id)
      select workspace_id, channel, external_id, id from given
      on conflict do nothing
      returning contact_id
    ),
    made as (
      insert into contacts (workspace_id, id, phone, name, name_key, email, email_key, company, company_key,
        social_username, social_username_key, avatar_url, created_at, updated_at)
      select workspace_id, id, phone, name, name_key, email, email_key, company, company_key, social_username,
        social_username_key, avatar_url, created_at, created_at
      from given join named on named.contact_id = given.id
      returning workspace_id, id, phone, social_username, name, email, company, avatar_url, created_at, updated_at
    ),
    created as (
      select m.workspace_id, m.id, m.phone, m.social_username, m.name, m.email, m.company, m.avatar_url, m.created_at,
        m.updated_at, g.channel, g.external_id
      from made m join given g on g.id = m.id
    )${emits ? sql`, ${emitCreated(sql, sql`created`)}` : sql``}
    select workspace_id, channel, external_id, id as contact_id from created`
}

export type Learnt = { workspace_id: string; contact_id: string; channel: ChannelName } & Pick<
  Who,
  'phone' | 'user_id' | 'name' | 'email' | 'username' | 'avatar_url'
>

/** Enter further names of people, and what was not known of them. A name that is somebody else's stays theirs. */
export async function learnPeople(sql: Sql, people: readonly Learnt[]): Promise<void> {
  const names = people.flatMap((person) =>
    identitiesOf(person).map((external_id) => ({ ...person, external_id, phone: undefined })),
  )
  const rows = people.map((person) => ({
    ...person,
    phone: person.phone && withoutOldPrefix(person.phone),
    name: textOrNull(person.name),
    name_key: foldedOf(textOrNull(person.name)),
    email: textOrNull(person.email),
    email_key: foldedOf(textOrNull(person.email)),
    username: usernameOf(person),
    username_key: foldedOf(usernameOf(person)),
    phone_identity: person.phone && identityOfPhone(person.phone),
  }))
  await sql`
    insert into contact_identities (workspace_id, channel, external_id, contact_id)
    select workspace_id, channel, external_id, contact_id
    from json_to_recordset(${JSON.stringify(names)}::text::json) as g (
      workspace_id uuid, channel text, external_id text, contact_id uuid
    )
    -- Whoever was erased meanwhile has no names any more.
    where exists (select from contacts c where c.workspace_id = g.workspace_id and c.id = g.contact_id)
    order by workspace_id, channel, external_id
    on conflict do nothing`
  await sql`
    with given as (
      select distinct on (workspace_id, contact_id) *
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as g (
        workspace_id uuid, contact_id uuid, channel text, phone text, phone_identity text, name text, name_key text,
        email text, email_key text, username text, username_key text, avatar_url text
      )
      order by workspace_id, contact_id
    )
    update contacts c set
      phone = coalesce(c.phone, i.phone),
      name = coalesce(c.name, g.name), name_key = coalesce(c.name_key, g.name_key),
      email = coalesce(c.email, g.email), email_key = coalesce(c.email_key, g.email_key),
      social_username = coalesce(c.social_username, g.username),
      social_username_key = coalesce(c.social_username_key, g.username_key),
      avatar_url = coalesce(c.avatar_url, g.avatar_url),
      updated_at = now()
    from given g
    -- The number is theirs only if its name is.
    left join lateral (
      select g.phone from contact_identities i
      where i.workspace_id = g.workspace_id and i.channel = 'msgapp' and i.external_id = g.phone_identity
        and i.contact_id = g.contact_id
    ) i on true
    where c.workspace_id = g.workspace_id and c.id = g.contact_id and (
      c.phone is null and i.phone is not null or c.name is null and g.name is not null
      or c.email is null and g.email is not null or c.social_username is null and g.username is not null or c.avatar_url is null and g.avatar_url is not null
    )`
}

/**
 * A person got a new number or a new user id, and keeps what was not replaced. The new name is theirs unless it is
 * somebody else's already; only then the old one of its kind goes.
 */
export async function movePerson(
  sql: Sql,
  workspaceId: string,
  channel: ChannelName,
  from: Pick<Who, 'phone' | 'user_id'>,
  to: Pick<Who, 'phone' | 'user_id'>,
): Promise<void> {
  const before = identitiesOf(from)
  const moves = [
    { old: from.phone && identityOfPhone(from.phone), new: to.phone && identityOfPhone(to.phone) },
    { old: from.user_id, new: to.user_id },
  ].filter((move) => move.new && move.new !== move.old)
  if (before.length === 0 || moves.length === 0) return
  const phone = to.phone && withoutOldPrefix(to.phone)
  await sql`
    with person as (
      select i.contact_id from contact_identities i
      where i.workspace_id = ${workspaceId} and i.channel = ${channel} and i.external_id = any(${before})
      order by array_position(${before}, i.external_id)
      limit 1
    ),
    moves as (
      select m.old, m.new
      from json_to_recordset(${JSON.stringify(moves)}::text::json) as m (old text, new text)
    ),
    added as (
      insert into contact_identities (workspace_id, channel, external_id, contact_id)
      select ${workspaceId}, ${channel}, moves.new, person.contact_id from person, moves
      order by moves.new
      on conflict do nothing
      returning contact_id, external_id
    ),
    dropped as (
      delete from contact_identities i using added a, moves
      where i.workspace_id = ${workspaceId} and i.channel = ${channel} and i.external_id = moves.old
        and moves.new = a.external_id and i.contact_id = a.contact_id
    )
    update contacts c set phone = ${phone}, updated_at = now()
    from added a
    where c.workspace_id = ${workspaceId} and c.id = a.contact_id
      and a.external_id = ${phone && identityOfPhone(phone)}`
}
