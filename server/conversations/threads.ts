/**
 * Threads: the contact and the conversation of people as a channel identifies them, found or created in bulk.
 *
 * Most people are known, so finding them is one statement. For the others it creates first the contact and then the
 * conversation, each in one statement with its event. A crash in between leaves a contact without a conversation; the next
 * message creates it.
 */
import type { ChannelName } from '../contacts/contacts.ts'
import { type CreatedPerson, createPeople, enrichPeople, identitiesOf, type PersonRef } from '../contacts/people.ts'
import { changedAt } from '../lib/changes.ts'
import { jsonObject, type Sql } from '../lib/db.ts'
import { newId, timeOfId } from '../lib/id.ts'
import { emit } from '../webhooks/emit.ts'
import { conversationColumns } from './conversations.ts'

export type Thread = {
  contact_id: string
  phone: string | null
  name: string | null
  email: string | null
  social_username: string | null
  conversation_id: string
  last_inbound_at: string | null
  /** Whether this call created the contact, for the first of several entries of the same person. */
  contact_created: boolean
}

export type FoundThread = Omit<Thread, 'conversation_id' | 'contact_created'> & {
  index: number
  conversation_id: string | null
  /** How many of the ids in the query belong to the contact. */
  identity_count: number
}

/** The threads of these people, in order; undefined for an unknown person. */
export async function findThreads(sql: Sql, people: readonly PersonRef[]): Promise<(FoundThread | undefined)[]> {
  const indexes: number[] = []
  const workspaceIds: string[] = []
  const channels: string[] = []
  const identities: string[] = []
  people.forEach((who, index) => {
    for (const identity of identitiesOf(who)) {
      indexes.push(index)
      workspaceIds.push(who.workspace_id)
      channels.push(who.channel)
      identities.push(identity)
    }
  })
  const found = await sql<FoundThread[]>`
    with known_people as (
      select distinct on (p.index) p.index, p.workspace_id, p.channel, i.contact_id,
        count(*) over (partition by p.index, i.contact_id)::int as identity_count
      from unnest(${indexes}::int[], ${workspaceIds}::uuid[], ${channels}::text[], ${identities}::text[]) with ordinality
        as p (index, workspace_id, channel, identity, rank)
      join contact_identities i
        on i.workspace_id = p.workspace_id and i.channel = p.channel and i.external_id = p.identity
      order by p.index, p.rank
    )
    select p.index, p.identity_count, c.id as contact_id, c.phone, c.name, c.email, c.social_username,
      v.id as conversation_id, v.last_inbound_at
    from known_people p
    join contacts c on c.workspace_id = p.workspace_id and c.id = p.contact_id
    left join conversations v on v.workspace_id = p.workspace_id and v.contact_id = p.contact_id and v.channel = p.channel`
  const threads: (FoundThread | undefined)[] = people.map(() => undefined)
  for (const row of found) threads[row.index] = row
  return threads
}

/** The contacts of these people, created where missing, and those that this call created. `known`: as below. */
export async function resolvePeople(
  sql: Sql,
  people: readonly PersonRef[],
  known?: readonly (FoundThread | undefined)[],
): Promise<{ found: readonly (FoundThread | undefined)[]; made: readonly CreatedPerson[] }> {
  const found = known ?? (await findThreads(sql, people))
  await storeNewDetails(sql, people, found)
  const unknown = people.filter((_, i) => !found[i])
  if (unknown.length === 0) return { found, made: [] }
  const made = await createPeople(sql, unknown)
  const created = toNewThreads(unknown, made)
  // Another caller has created these contacts meanwhile.
  const others = unknown.filter((_, i) => !created[i])
  const late = others.length > 0 ? await findThreads(sql, others) : []
  const resolved = fillGaps(created, late)
  await storeNewDetails(sql, unknown, resolved)
  return { found: fillGaps(found, resolved), made }
}

/** Replaces each undefined entry with the next of `values`. */
function fillGaps<Value>(list: readonly (Value | undefined)[], values: readonly (Value | undefined)[]) {
  let next = 0
  return list.map((entry) => entry ?? values[next++])
}

/** The threads of people whose contacts were just created; undefined for the others. */
function toNewThreads(people: readonly PersonRef[], made: readonly CreatedPerson[]): (FoundThread | undefined)[] {
  const keyOf = (workspaceId: string, channel: string, identity = '') => `${workspaceId} ${channel} ${identity}`
  const byIdentity = new Map(made.map((one) => [keyOf(one.workspace_id, one.channel, one.external_id), one]))
  return people.map((who, index) => {
    const identities = identitiesOf(who)
    const created = byIdentity.get(keyOf(who.workspace_id, who.channel, identities[0]))
    if (!created) return undefined
    const { contact_id, phone, name, email, social_username, external_id, second_id } = created
    const identity_count = identities.filter((identity) => identity === external_id || identity === second_id).length
    return {
      ...{ index, contact_id, phone, name, email, social_username, identity_count },
      ...{ conversation_id: null, last_inbound_at: null },
    }
  })
}

/** The threads of these people, created where missing. `known`: the result of a `findThreads` just before. */
export async function resolveThreads(
  sql: Sql,
  people: readonly PersonRef[],
  known?: readonly (FoundThread | undefined)[],
): Promise<Thread[]> {
  const created = new Set<string>()
  let found = known
  // A round finds or creates everything, unless a contact is erased or merged meanwhile.
  for (let round = 0; round < maxRounds; round++) {
    const resolved = await resolvePeople(sql, people, found)
    for (const { contact_id } of resolved.made) created.add(contact_id)
    const missing = listMissing(people, resolved.found)
    const conversations = missing.length > 0 ? await createConversations(sql, missing) : []
    found = addConversations(people, resolved.found, conversations)
    if (found.every((thread) => thread?.conversation_id)) break
    // Another caller created a conversation, or its contact is gone.
    found = await findThreads(sql, people)
    if (found.every((thread) => thread?.conversation_id)) break
  }
  return (found ?? []).map((thread) => toThread(thread, thread !== undefined && created.delete(thread.contact_id)))
}

function addConversations(
  people: readonly PersonRef[],
  found: readonly (FoundThread | undefined)[],
  conversations: readonly CreatedConversation[],
): readonly (FoundThread | undefined)[] {
  if (conversations.length === 0) return found
  const ids = new Map(conversations.map(({ contact_id, channel, id }) => [`${contact_id} ${channel}`, id]))
  return found.map((thread, i) => {
    if (!thread || thread.conversation_id) return thread
    return { ...thread, conversation_id: ids.get(`${thread.contact_id} ${people[i]?.channel}`) ?? null }
  })
}

/** Each round loses a race against another erasure or merge of the same contact, so few rounds are enough. */
const maxRounds = 5

/** The conversations that do not exist yet, each once. */
function listMissing(people: readonly PersonRef[], found: readonly (FoundThread | undefined)[]): NewConversation[] {
  const missing = new Map<string, NewConversation>()
  people.forEach(({ workspace_id, channel }, i) => {
    const thread = found[i]
    if (thread && !thread.conversation_id) {
      missing.set(`${thread.contact_id} ${channel}`, { workspace_id, channel, contact_id: thread.contact_id })
    }
  })
  return [...missing.values()]
}

function toThread(found: FoundThread | undefined, created: boolean): Thread {
  if (!found?.conversation_id) throw new Error('a conversation that was just resolved does not exist')
  return { ...found, conversation_id: found.conversation_id, contact_created: created }
}

/** Locks a contact's conversations: no message is added to them until the transaction ends. */
export async function lockThreadsOf(sql: Sql, workspaceId: string, contactId: string): Promise<void> {
  await sql`
    select id from conversations where workspace_id = ${workspaceId} and contact_id = ${contactId}
    order by id
    for update`
}

/** Stores details that the contacts did not have yet: a further id, a name, a phone number, an e-mail address. */
async function storeNewDetails(
  sql: Sql,
  people: readonly PersonRef[],
  found: readonly (FoundThread | undefined)[],
): Promise<void> {
  const learnt = people.flatMap((who, i) => {
    const thread = found[i]
    if (!thread) return []
    const hasNews =
      thread.identity_count < identitiesOf(who).length ||
      (!thread.phone && who.phone) ||
      (!thread.name && who.name) ||
      (!thread.email && who.email) ||
      (who.channel === 'social' && !thread.social_username && who.username)
    return hasNews ? [{ ...who, contact_id: thread.contact_id }] : []
  })
  if (learnt.length > 0) await enrichPeople(sql, learnt)
}

type NewConversation = { workspace_id: string; channel: ChannelName; contact_id: string }

type CreatedConversation = { id: string; channel: ChannelName; contact_id: string }

/** Creates conversations. Returns only those that this call created. */
async function createConversations(
  sql: Sql,
  conversations: readonly NewConversation[],
): Promise<readonly CreatedConversation[]> {
  const rows = conversations.map((conversation) => {
    const id = newId()
    return { ...conversation, id, created_at: timeOfId(id) }
  })
  return sql<CreatedConversation[]>`
    with
    -- The conversations to create.
    input as (
      select *
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as i (
        workspace_id uuid, channel text, contact_id uuid, id uuid, created_at timestamptz
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
      insert into conversations (workspace_id, id, contact_id, channel, created_at, updated_at)
      select i.workspace_id, i.id, i.contact_id, i.channel, i.created_at,
        ${changedAt(sql, sql`i.created_at`)}
      from input i join locked_contacts c on c.workspace_id = i.workspace_id and c.id = i.contact_id
      order by i.workspace_id, i.contact_id, i.channel
      on conflict do nothing
      returning workspace_id, id, channel, contact_id, status, assigned_agent_id, last_message_text, last_message_at,
        last_inbound_at, last_received_at, unread_count, snoozed_until, created_at, updated_at
    ),
    ${emit(sql, {
      event: 'conversation.created',
      workspaces: sql`inserted_conversations`,
      from: sql`inserted_conversations v`,
      workspaceId: sql`v.workspace_id`,
      occurredAt: sql`v.created_at`,
      data: jsonObject(
        sql,
        sql`v.id as conversation_id, v.contact_id, (
          select ${jsonObject(sql, conversationColumns(sql))}
          from contacts c where c.workspace_id = v.workspace_id and c.id = v.contact_id
        ) as conversation`,
      ),
    })}
    select id, channel, contact_id from inserted_conversations`
}
