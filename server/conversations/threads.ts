/**
 * Threads: the contact and the conversation of people as a channel identifies them, found or created in bulk.
 *
 * Most people are known, so finding them is one statement. For the others it creates first the contact and then the
 * conversation, each in one statement with its event. A crash in between leaves a contact without a conversation; the next
 * message creates it.
 */

import { type CreatedPerson, createPeople, enrichPeople, identitiesOf, type PersonRef } from '../contacts/people.ts'
import { newId, timeOfId } from '../lib/id.ts'
import { changedAt } from '../lib/postgres/changes.ts'
import { jsonObject, type Sql } from '../lib/postgres/db.ts'
import { emit } from '../webhooks/emit.ts'
import { publicConversation } from './resource.ts'

export type Thread = {
  contact_id: string
  phone: string | null
  name: string | null
  email: string | null
  social_username: string | null
  username: string | null
  conversation_id: string
  /** The connection of the conversation. */
  connection_id: string | null
  last_inbound_at: string | null
  last_broadcast_message_id: string | null
  /** The open episode of the conversation. */
  episode_id: string | null
  /** Whether this call created the contact, for the first of several entries of the same person. */
  contact_created: boolean
}

export type FoundThread = Omit<Thread, 'conversation_id' | 'contact_created'> & {
  conversation_id: string | null
  /** The run with questions that is open in the conversation. */
  bot_run_id: string | null
  /** The last message that asked for a rating. */
  rating_message_id: string | null
  /** How many of the ids in the query belong to the contact. */
  identity_count: number
}

/** A person whose thread is looked for, with what is found or created. */
export type Lookup = {
  who: PersonRef
  thread?: FoundThread | undefined
  /** The contact that was created for this lookup, the first of several of the same person. */
  createdId?: string
}

/**
 * The threads of these people, in order; undefined for an unknown person. Without a connection it is the conversation, among those whose
 * connection is not disconnected, in which the customer wrote last, or else the one with the last message.
 */
export async function findThreads(sql: Sql, people: readonly PersonRef[]): Promise<(FoundThread | undefined)[]> {
  const indexes: number[] = []
  const workspaceIds: string[] = []
  const channels: string[] = []
  const connectionIds: (string | null)[] = []
  const identities: string[] = []
  people.forEach((who, index) => {
    for (const identity of identitiesOf(who)) {
      indexes.push(index)
      workspaceIds.push(who.workspace_id)
      channels.push(who.channel)
      connectionIds.push(who.connection_id ?? null)
      identities.push(identity)
    }
  })
  const found = await sql<(FoundThread & { index: number })[]>`
    with known_people as (
      select distinct on (p.index) p.index, p.workspace_id, p.channel, p.connection_id, i.contact_id,
        count(*) over (partition by p.index, i.contact_id)::int as identity_count
      from unnest(${indexes}::int[], ${workspaceIds}::uuid[], ${channels}::text[], ${connectionIds}::uuid[],
        ${identities}::text[]) with ordinality as p (index, workspace_id, channel, connection_id, identity, rank)
      join contact_identities i
        on i.workspace_id = p.workspace_id and i.channel = p.channel and i.external_id = p.identity
      order by p.index, p.rank
    )
    select p.index, p.identity_count, c.id as contact_id, c.phone, c.name, c.email, c.social_username, c.username,
      v.id as conversation_id, v.connection_id, v.last_inbound_at, v.last_broadcast_message_id, v.episode_id, v.bot_run_id,
      v.rating_message_id
    from known_people p
    join contacts c on c.workspace_id = p.workspace_id and c.id = p.contact_id
    left join lateral (
      select v.id, v.connection_id, v.last_inbound_at, v.last_broadcast_message_id, v.episode_id, v.bot_run_id, v.rating_message_id
      from conversations v
      where v.workspace_id = p.workspace_id and v.contact_id = p.contact_id and v.channel = p.channel
        and case when p.connection_id is not null then v.connection_id = p.connection_id else exists (
          select from channel_connections k
          where k.workspace_id = v.workspace_id and k.id = v.connection_id and k.disconnected_at is null
        ) end
      order by v.last_inbound_at desc nulls last, v.last_message_at desc nulls last
      limit 1
    ) v on true`
  const threads: (FoundThread | undefined)[] = people.map(() => undefined)
  for (const row of found) threads[row.index] = row
  return threads
}

/** Sets the threads of these lookups. */
export async function lookUp(sql: Sql, lookups: readonly Lookup[]): Promise<void> {
  const found = lookups.length > 0 ? await findThreads(sql, whoOf(lookups)) : []
  lookups.forEach((lookup, i) => {
    lookup.thread = found[i]
  })
}

const whoOf = (lookups: readonly Lookup[]): PersonRef[] => lookups.map(({ who }) => who)

/** Creates the contacts that `lookUp` did not find, and stores new details of the others. */
export async function resolveContacts(sql: Sql, lookups: readonly Lookup[]): Promise<void> {
  await storeNewDetails(sql, lookups)
  const unknown = lookups.filter(({ thread }) => !thread)
  if (unknown.length === 0) return
  const created = await createPeople(sql, whoOf(unknown))
  const keyOf = (who: Pick<PersonRef, 'workspace_id' | 'channel'>, identity = '') =>
    `${who.workspace_id} ${who.channel} ${identity}`
  const byIdentity = new Map(created.map((person) => [keyOf(person, person.external_id), person]))
  const createdIds = new Set(created.map(({ contact_id }) => contact_id))
  for (const lookup of unknown) {
    const person = byIdentity.get(keyOf(lookup.who, identitiesOf(lookup.who)[0]))
    if (!person) continue
    lookup.thread = toNewThread(lookup.who, person)
    if (createdIds.delete(person.contact_id)) lookup.createdId = person.contact_id
  }
  // Another caller has created these contacts meanwhile.
  await lookUp(
    sql,
    unknown.filter(({ thread }) => !thread),
  )
  await storeNewDetails(sql, unknown)
}

function toNewThread(who: PersonRef, created: CreatedPerson): FoundThread {
  const { contact_id, phone, name, email, social_username, username, external_id, second_id } = created
  const identity_count = identitiesOf(who).filter(
    (identity) => identity === external_id || identity === second_id,
  ).length
  return {
    ...{ contact_id, phone, name, email, social_username, username, identity_count },
    ...{ conversation_id: null, connection_id: null, last_inbound_at: null, last_broadcast_message_id: null },
    ...{ episode_id: null, bot_run_id: null, rating_message_id: null },
  }
}

/** The threads of these people, created where missing. */
export async function resolveThreads(sql: Sql, people: readonly PersonRef[]): Promise<Thread[]> {
  const lookups = people.map((who): Lookup => ({ who }))
  await lookUp(sql, lookups)
  await resolveLookups(sql, lookups)
  return lookups.map(threadOf)
}

/** Creates what `lookUp` did not find. */
export async function resolveLookups(sql: Sql, lookups: readonly Lookup[]): Promise<void> {
  const isComplete = () => lookups.every(({ thread }) => thread?.conversation_id)
  await retryMoved(async () => {
    await resolveContacts(sql, lookups)
    await createConversations(sql, lookups)
    // Otherwise another caller created a conversation, or its contact is gone.
    if (!isComplete()) await lookUp(sql, lookups)
    return isComplete() || undefined
  })
}

/** The thread of a lookup that was resolved. */
export function threadOf({ thread, createdId }: Lookup): Thread {
  if (!thread?.conversation_id) throw new Error('a conversation that was just resolved does not exist')
  return { ...thread, conversation_id: thread.conversation_id, contact_created: createdId === thread.contact_id }
}

/** Each attempt loses a race against another erasure or merge of the same contact, so few are enough. */
const maxAttempts = 5

/** Repeats `run` while it returns undefined, because its contact or conversation was erased or merged at the same moment. */
export async function retryMoved<Result>(run: () => Promise<Result | undefined>): Promise<Result> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const result = await run()
    if (result !== undefined) return result
  }
  throw new Error(`a contact was erased or merged during each of ${maxAttempts} attempts`)
}

/** Locks a contact's conversations: no message is added to them until the transaction ends. */
export async function lockThreadsOf(sql: Sql, workspaceId: string, contactId: string): Promise<void> {
  await sql`
    select id from conversations where workspace_id = ${workspaceId} and contact_id = ${contactId}
    order by id
    for update`
}

/** Stores details that the contacts did not have yet: a further id, a name, a phone number, an e-mail address, a user name. */
async function storeNewDetails(sql: Sql, lookups: readonly Lookup[]): Promise<void> {
  const learnt = lookups.flatMap(({ who, thread }) => {
    if (!thread) return []
    const hasNews =
      thread.identity_count < identitiesOf(who).length ||
      (!thread.phone && who.phone) ||
      (!thread.name && who.name) ||
      (!thread.email && who.email) ||
      (who.channel === 'social' && !thread.social_username && who.username) ||
      (who.channel === 'msgapp' && who.username && who.username !== thread.username)
    return hasNews ? [{ ...who, contact_id: thread.contact_id }] : []
  })
  if (learnt.length > 0) await enrichPeople(sql, learnt)
}

/**
 * Creates the conversations of contacts that have none on their connection. One that another caller creates meanwhile is not set. Without a
 * connection a trigger chooses that of the channel.
 */
async function createConversations(sql: Sql, lookups: readonly Lookup[]): Promise<void> {
  const missing = lookups.flatMap(({ who, thread }) => (thread && !thread.conversation_id ? [{ who, thread }] : []))
  if (missing.length === 0) return
  const keyOf = ({ who, thread }: (typeof missing)[number]) =>
    `${thread.contact_id} ${who.connection_id ?? who.channel}`
  const rows = new Map(
    missing.map((one) => {
      const { workspace_id, channel, connection_id = null } = one.who
      const id = newId()
      const { contact_id } = one.thread
      return [keyOf(one), { workspace_id, channel, connection_id, contact_id, id, created_at: timeOfId(id) }] as const
    }),
  )
  const created = await sql<{ id: string; connection_id: string | null }[]>`
    with
    -- The conversations to create.
    input as (
      select *
      from json_to_recordset(${JSON.stringify([...rows.values()])}::text::json) as i (
        workspace_id uuid, channel text, connection_id uuid, contact_id uuid, id uuid, created_at timestamptz
      )
    ),
    -- Their contacts. The lock waits for a transaction that erases or merges one: it is gone afterwards.
    locked_contacts as (
      select c.workspace_id, c.id from contacts c
      where (c.workspace_id, c.id) in (select workspace_id, contact_id from input)
      order by c.id
      for key share
    ),
    -- Without conversations that another statement created in the meantime. Sorted, so that two cannot deadlock.
    inserted_conversations as (
      insert into conversations as v (workspace_id, id, contact_id, channel, connection_id, created_at, updated_at)
      select i.workspace_id, i.id, i.contact_id, i.channel, i.connection_id, i.created_at,
        ${changedAt(sql, sql`i.created_at`)}
      from input i join locked_contacts c on c.workspace_id = i.workspace_id and c.id = i.contact_id
      order by i.workspace_id, i.contact_id, i.connection_id
      on conflict do nothing
      returning v.workspace_id, v.connection_id, v.team_id, ${publicConversation.storedColumns(sql)}, v.last_inbound_at, v.last_received_at,
        v.bot_run_id, v.episode_id, v.episode_messages, v.episode_replies
    ),
    ${emit(sql, {
      event: 'conversation.created',
      workspaces: sql`inserted_conversations`,
      from: sql`inserted_conversations v`,
      order: sql`v.id`,
      workspaceId: sql`v.workspace_id`,
      occurredAt: sql`v.created_at`,
      data: jsonObject(
        sql,
        sql`v.id as conversation_id, v.contact_id, (
          select ${publicConversation.json(sql)}
          from contacts c where c.workspace_id = v.workspace_id and c.id = v.contact_id
        ) as conversation`,
      ),
    })}
    select id, connection_id from inserted_conversations`
  const connectionIds = new Map(created.map(({ id, connection_id }) => [id, connection_id]))
  for (const one of missing) {
    const { id } = rows.get(keyOf(one)) ?? { id: '' }
    if (!connectionIds.has(id)) continue
    one.thread.conversation_id = id
    one.thread.connection_id = connectionIds.get(id) ?? null
  }
}
