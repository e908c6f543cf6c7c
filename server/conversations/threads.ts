/**
 * Threads in bulk: for people as a channel names them, who they are and the
 * conversation with them, found or made.
 *
 * Nearly everybody is known, so finding is one statement. Whoever is not is
 * made, person first, conversation second, each with its event in the same
 * statement; then they are found like anybody else. A crash in between leaves
 * a person without a conversation, which the next message mends.
 */
import type { ChannelName } from '../contacts/contacts.ts'
import { identitiesOf, learnPeople, type Made, makePeople, type Who } from '../contacts/people.ts'
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
  /** Made by this very call, and for this very person. */
  contact_created: boolean
}

export type Found = Omit<Thread, 'conversation_id' | 'contact_created'> & {
  place: number
  conversation_id: string | null
  /** How many of the names we asked by are theirs. */
  name_count: number
}

/** Who these people are, in order; undefined: nobody yet. */
export async function findThreads(sql: Sql, people: readonly Who[]): Promise<(Found | undefined)[]> {
  const places: number[] = []
  const workspaces: string[] = []
  const channels: string[] = []
  const names: string[] = []
  people.forEach((who, place) => {
    for (const name of identitiesOf(who)) {
      places.push(place)
      workspaces.push(who.workspace_id)
      channels.push(who.channel)
      names.push(name)
    }
  })
  const found = await sql<Found[]>`
    with known as (
      select distinct on (asked.place) asked.place, asked.workspace_id, asked.channel, i.contact_id,
        count(*) over (partition by asked.place, i.contact_id)::int as name_count
      from unnest(${places}::int[], ${workspaces}::uuid[], ${channels}::text[], ${names}::text[]) with ordinality
        as asked (place, workspace_id, channel, name, rank)
      join contact_identities i
        on i.workspace_id = asked.workspace_id and i.channel = asked.channel and i.external_id = asked.name
      order by asked.place, asked.rank
    )
    select k.place, k.name_count, c.id as contact_id, c.phone, c.name, c.email, c.social_username,
      v.id as conversation_id, v.last_inbound_at
    from known k
    join contacts c on c.workspace_id = k.workspace_id and c.id = k.contact_id
    left join conversations v on v.workspace_id = k.workspace_id and v.contact_id = k.contact_id and v.channel = k.channel`
  const threads: (Found | undefined)[] = people.map(() => undefined)
  for (const row of found) threads[row.place] = row
  return threads
}

/** Who these people are, made where they are nobody yet, and which were made by this very call. `known`: as below. */
export async function resolvePeople(
  sql: Sql,
  people: readonly Who[],
  known?: readonly (Found | undefined)[],
): Promise<{ found: readonly (Found | undefined)[]; made: readonly Made[] }> {
  const found = known ?? (await findThreads(sql, people))
  await learn(sql, people, found)
  const strangers = people.filter((_, place) => !found[place])
  if (strangers.length === 0) return { found, made: [] }
  const made = await makePeople(sql, strangers)
  const all = await findThreads(sql, people)
  await learn(sql, people, all)
  return { found: all, made }
}

/** Who these people are, and their conversations, made where there is none. `known`: what was found a moment ago. */
export async function resolveThreads(
  sql: Sql,
  people: readonly Who[],
  known?: readonly (Found | undefined)[],
): Promise<Thread[]> {
  const resolved = await resolvePeople(sql, people, known)
  let { found } = resolved
  const without = new Map<string, NewConversation>()
  people.forEach(({ workspace_id, channel }, place) => {
    const thread = found[place]
    if (thread && !thread.conversation_id) {
      without.set(`${thread.contact_id} ${channel}`, { workspace_id, channel, contact_id: thread.contact_id })
    }
  })
  if (without.size > 0) {
    await makeConversations(sql, [...without.values()])
    found = await findThreads(sql, people)
  }
  const created = new Set(resolved.made.map(({ contact_id }) => contact_id))
  return found.map((thread) => toThread(thread, thread !== undefined && created.delete(thread.contact_id)))
}

function toThread(found: Found | undefined, created: boolean): Thread {
  if (!found?.conversation_id) throw new Error('a conversation just found or made is not there')
  return { ...found, conversation_id: found.conversation_id, contact_created: created }
}

/** Hold the conversations with somebody: nothing is added to them until the transaction ends. */
export async function lockThreadsOf(sql: Sql, workspaceId: string, contactId: string): Promise<void> {
  await sql`
    select id from conversations where workspace_id = ${workspaceId} and contact_id = ${contactId}
    order by id
    for update`
}

/** Keep what came along: a second name, a name for somebody who had none. */
async function learn(sql: Sql, people: readonly Who[], found: readonly (Found | undefined)[]): Promise<void> {
  const news = people.flatMap((who, place) => {
    const thread = found[place]
    if (!thread) return []
    const isNews =
      thread.name_count < identitiesOf(who).length ||
      (!thread.phone && who.phone) ||
      (!thread.name && who.name) ||
      (!thread.email && who.email) ||
      (who.channel === 'social' && !thread.social_username && who.username)
    return isNews ? [{ ...who, contact_id: thread.contact_id }] : []
  })
  if (news.length > 0) await learnPeople(sql, news)
}

type NewConversation = { workspace_id: string; channel: ChannelName; contact_id: string }

async function makeConversations(sql: Sql, conversations: readonly NewConversation[]): Promise<void> {
  const rows = conversations.map((conversation) => {
    const id = newId()
    return { ...conversation, id, created_at: timeOfId(id) }
  })
  await sql`
    with given as (
      select *
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as g (
        workspace_id uuid, channel text, contact_id uuid, id uuid, created_at timestamptz
      )
    ),
    made as (
      insert into conversations (workspace_id, id, contact_id, channel, created_at, updated_at)
      select workspace_id, id, contact_id, channel, created_at, created_at from given
      order by workspace_id, contact_id, channel
      on conflict do nothing
      returning workspace_id, id, channel, contact_id, status, assigned_agent_id, last_message_text, last_message_at,
        last_inbound_at, unread_count, created_at, updated_at
    ),
    ${emit(sql, {
      event: 'conversation.created',
      workspaces: sql`made`,
      from: sql`made v`,
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
    select id from made`
}
