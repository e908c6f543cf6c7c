/**
 * The target of a message: a phone number or a conversation, turned into everything that the steps of a send read. Writes
 * nothing and refuses only what does not exist; `check.ts` has the rules.
 */
import type { Channel, Connection, Person, Template } from '../../channels/channel.ts'
import { getConnection, getConnectionById, requireSender } from '../../channels/connections.ts'
import { getTemplate } from '../../channels/templates.ts'
import type { PersonRef } from '../../contacts/people.ts'
import { identityOfPhone, requirePhone } from '../../contacts/phone.ts'
import type { ChannelName } from '../../contacts/resource.ts'
import { isInScope, scopeOf, withoutScope } from '../../contacts/scope.ts'
import { findThreads, type Thread } from '../../conversations/threads.ts'
import { createBatch } from '../../lib/batch.ts'
import type { Sealer } from '../../lib/crypto.ts'
import { badRequest, notFound } from '../../lib/errors.ts'
import { isUuid } from '../../lib/id.ts'
import type { Sql } from '../../lib/postgres/db.ts'
import { createTtlCache } from '../../lib/ttl-cache.ts'
import type { RequestedContent } from './requested-content.ts'

/**
 * What a caller sends to. The contact and the conversation of a phone number are created where they do not exist; a contact without a
 * number is reached by the user id by which the sending account knows it. `from`: the number that sends. Without it the number of the
 * conversation in which the customer wrote last, or else the default. `name`: the contact's new name.
 */
export type TargetRef =
  | { phone: string; defaultCountry: string; from?: string | undefined; name?: string | undefined }
  | { contactId: string; defaultCountry: string; from?: string | undefined }
  | { conversationId: string }

export type TargetThread = Pick<Thread, 'conversation_id' | 'contact_id' | 'contact_created' | 'name'>

export type Target = {
  workspaceId: string
  channel: Channel
  /** The connection that sends; undefined when there is none, or that of the conversation is disconnected. */
  connection: Connection | undefined
  /** The template that the request names, as far as it is stored. */
  template: Template | undefined
  /** The recipient as the channel identifies them; undefined when the channel does not know them. */
  person: Person | undefined
  /** The person whose contact and conversation the send creates where they do not exist; undefined for a conversation. */
  who: PersonRef | undefined
  contactId: string | undefined
  thread: TargetThread | undefined
  /** When the customer last wrote, by the channel's clock. */
  windowFrom: string | null
  newName: string | null
}

/** How long a connection and a template are cached. */
const cacheMs = 200

type FoundTarget = Omit<Target, 'template'>
type NumberRef = Extract<TargetRef, { phone: string }>
type ContactRef = Extract<TargetRef, { contactId: string }>
type FinderOptions = { sql: Sql; sealer: Sealer; channels: Record<ChannelName, Channel> }

/** Returns a function that finds targets. It throws 400 for a wrong number or a contact who cannot be reached, 404 for an unknown one. */
export function createTargetFinder({ sql, sealer, channels }: FinderOptions) {
  const findThread = createBatch({
    run: (people: readonly PersonRef[]) => findThreads(sql, people),
    flowOf: ({ workspace_id }) => workspace_id,
    lanes: 1,
  })
  // Concurrent sends share one read. Without it, each of the two reads was a third of all statements.
  const readDefault = createTtlCache((workspaceId) => getConnection(sql, sealer, workspaceId, 'msgapp'), cacheMs)
  const readConnection = createTtlCache((key) => {
    const [workspaceId = '', id = ''] = key.split(' ')
    return getConnectionById(sql, sealer, workspaceId, id)
  }, cacheMs)
  const readSender = createTtlCache((key) => {
    const [workspaceId = '', from = '', defaultCountry = ''] = JSON.parse(key) as string[]
    return requireSender(sql, sealer, workspaceId, { from, defaultCountry })
  }, cacheMs)
  const readTemplate = createTtlCache((key) => {
    const [workspaceId = '', name = '', language = '', scope = ''] = JSON.parse(key) as string[]
    return getTemplate(sql, workspaceId, name, language, scope)
  }, cacheMs)

  const findSender = async (workspaceId: string, { from, defaultCountry }: Omit<ContactRef, 'contactId'>) =>
    from === undefined ? undefined : readSender(JSON.stringify([workspaceId, from, defaultCountry]))

  async function findNumber(workspaceId: string, to: NumberRef): Promise<FoundTarget> {
    const phone = requirePhone(to.phone, to.defaultCountry, 'to')
    const newName = to.name?.trim() || null
    const sender = await findSender(workspaceId, to)
    const person = { workspace_id: workspaceId, channel: 'msgapp', phone, user_id: null, name: newName } as const
    const [found, fallback] = await Promise.all([
      findThread({ ...person, connection_id: sender?.id ?? null }),
      sender ?? readDefault(workspaceId),
    ])
    const isFallback = !found?.connection_id || found.connection_id === fallback?.id
    const connection = isFallback ? fallback : await readConnection(`${workspaceId} ${found.connection_id}`)
    const who: PersonRef = { ...person, connection_id: connection?.id ?? null }
    const base = { workspaceId, channel: channels.msgapp, connection, person: toPerson(phone, null), newName }
    if (!found) return { ...base, who, contactId: undefined, thread: undefined, windowFrom: null }
    const { conversation_id, contact_id, name, last_inbound_at: windowFrom } = found
    const thread = conversation_id ? { conversation_id, contact_id, contact_created: false, name } : undefined
    // An existing contact is renamed when the channel accepts the message, not before.
    return { ...base, who: { ...who, name: null }, contactId: contact_id, thread, windowFrom }
  }

  async function findContact(workspaceId: string, { contactId, ...to }: ContactRef): Promise<FoundTarget> {
    const { phone, identities } = await requireIdentities(sql, workspaceId, contactId)
    if (phone) return findNumber(workspaceId, { ...to, phone })
    const userIds = identities.filter((identity) => !isNumber(identity))
    const [anyId] = userIds
    if (anyId === undefined) throw badRequest('the contact has no phone number')
    const refOf = (stored: string): PersonRef => {
      const ids = { phone: null, user_id: withoutScope(stored), scope: scopeOf(stored) }
      return { workspace_id: workspaceId, channel: 'msgapp', ...ids }
    }
    const sender = await findSender(workspaceId, to)
    const found = await findThread({ ...refOf(anyId), connection_id: sender?.id ?? null })
    const newest = found?.connection_id ? await readConnection(`${workspaceId} ${found.connection_id}`) : undefined
    const connection = sender ?? newest ?? (await readDefault(workspaceId))
    const base = { workspaceId, channel: channels.msgapp, contactId, newName: null }
    const unknown = { thread: undefined, windowFrom: null }
    if (!connection) return { ...base, ...unknown, connection, person: undefined, who: undefined }
    const userId = userIds.find((stored) => isInScope(connection.scope, stored))
    if (userId === undefined) {
      throw badRequest('the contact has no phone number, and has not written to a number of this account')
    }
    const who: PersonRef = { ...refOf(userId), connection_id: connection.id }
    const reached = { ...base, connection, who, person: toPerson(null, withoutScope(userId)) }
    const conversationId = found?.connection_id === connection.id ? found.conversation_id : null
    if (!found || !conversationId) return { ...reached, ...unknown }
    const { contact_id, name, last_inbound_at: windowFrom } = found
    const thread = { conversation_id: conversationId, contact_id, contact_created: false, name }
    return { ...reached, thread, windowFrom }
  }

  async function findConversation(workspaceId: string, conversationId: string): Promise<FoundTarget> {
    const found = await requireThread(sql, workspaceId, conversationId)
    const { contact_id, name, last_inbound_at: windowFrom } = found
    const thread = { conversation_id: conversationId, contact_id, contact_created: false, name }
    const connection = found.connection_id ? await readConnection(`${workspaceId} ${found.connection_id}`) : undefined
    const base = { workspaceId, channel: channels[found.channel], connection, person: personOf(found), newName: null }
    return { ...base, who: undefined, contactId: contact_id, thread, windowFrom }
  }

  const find = (workspaceId: string, to: TargetRef): Promise<FoundTarget> => {
    if ('phone' in to) return findNumber(workspaceId, to)
    if ('contactId' in to) return findContact(workspaceId, to)
    return findConversation(workspaceId, to.conversationId)
  }

  return async (workspaceId: string, to: TargetRef, requested: RequestedContent): Promise<Target> => {
    const found = await find(workspaceId, to)
    const scope = found.connection?.scope ?? ''
    const template =
      requested.type === 'template'
        ? await readTemplate(JSON.stringify([workspaceId, requested.name, requested.language, scope]))
        : undefined
    return { ...found, template }
  }
}

type StoredThread = {
  channel: ChannelName
  connection_id: string | null
  contact_id: string
  phone: string | null
  name: string | null
  /** Phone numbers, and the user ids of the conversation's provider account, as the provider knows them. */
  identities: string[]
  last_inbound_identity: string | null
  last_inbound_at: string | null
  blocked_at: string | null
  is_channel_blocked: boolean
}

/** The number of a contact, and the identities by which the primary channel knows it. */
async function requireIdentities(
  sql: Sql,
  workspaceId: string,
  id: string,
): Promise<{ phone: string | null; identities: string[] }> {
  const [contact] = isUuid(id)
    ? await sql<{ phone: string | null; identities: string[] }[]>`
        select c.phone, array(
          select i.external_id from contact_identities i
          where i.workspace_id = c.workspace_id and i.contact_id = c.id and i.channel = 'msgapp'
          order by i.external_id
        ) as identities
        from contacts c
        where c.workspace_id = ${workspaceId} and c.id = ${id}`
    : []
  if (!contact) throw notFound('contact')
  return contact
}

export async function requireThread(sql: Sql, workspaceId: string, conversationId: string): Promise<StoredThread> {
  const [found] = isUuid(conversationId)
    ? await sql<(StoredThread & { scope: string | null })[]>`
        select v.channel, v.connection_id, v.contact_id, c.phone, c.name, v.last_inbound_identity, v.last_inbound_at, v.blocked_at,
          v.is_channel_blocked, array(
          select i.external_id from contact_identities i
          where i.workspace_id = v.workspace_id and i.contact_id = v.contact_id and i.channel = v.channel
          order by i.external_id
        ) as identities, (
          select k.scope from channel_connections k where k.workspace_id = v.workspace_id and k.id = v.connection_id
        ) as scope
        from conversations v
        join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
        where v.workspace_id = ${workspaceId} and v.id = ${conversationId}`
    : []
  if (!found) throw notFound('conversation')
  const { scope, ...thread } = found
  return {
    ...thread,
    identities: found.identities.filter((each) => isNumber(each) || isInScope(scope ?? '', each)).map(withoutScope),
    last_inbound_identity: found.last_inbound_identity && withoutScope(found.last_inbound_identity),
  }
}

/** The contact and the conversation of a message; undefined when there is no such message. */
export async function getThreadOfMessage(sql: Sql, workspaceId: string, id: string): Promise<TargetThread | undefined> {
  const [thread] = await sql<TargetThread[]>`
    select m.conversation_id, v.contact_id, false as contact_created, c.name
    from messages m
    join conversations v on v.workspace_id = m.workspace_id and v.id = m.conversation_id
    join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
    where m.workspace_id = ${workspaceId} and m.id = ${id}`
  return thread
}

/**
 * The contact of a conversation as the channel identifies them. A merged contact has several numbers or user ids: the one that
 * the customer last wrote from, or else the contact's number.
 */
function personOf(thread: StoredThread): Person | undefined {
  const { identities, last_inbound_identity: last } = thread
  const { ownPhone, numbers, userIds } = identitiesIn(thread)
  if (last && identities.includes(last) && (isNumber(last) ? numbers : userIds).length > 1) {
    if (!isNumber(last)) return toPerson(null, last)
    const isOwn = ownPhone !== null && identityOfPhone(ownPhone) === last
    return toPerson(isOwn ? ownPhone : last, null)
  }
  const number = ownPhone ?? numbers[0] ?? null
  const userId = userIds[0] ?? null
  return number || userId ? toPerson(number, userId) : undefined
}

/** The contact of a conversation for a call about all its identities: one person, or several of a merged contact. */
export function peopleOf(thread: StoredThread): Person[] {
  const { numbers, userIds } = identitiesIn(thread)
  if (numbers.length > 1 || userIds.length > 1) {
    return [...numbers.map((number) => toPerson(number, null)), ...userIds.map((userId) => toPerson(null, userId))]
  }
  const person = personOf(thread)
  return person ? [person] : []
}

const isNumber = (identity: string): boolean => identity.startsWith('+')

const identitiesIn = ({ channel, phone, identities }: StoredThread) => ({
  ownPhone: channel === 'msgapp' ? phone : null,
  numbers: identities.filter(isNumber),
  userIds: identities.filter((identity) => !isNumber(identity)),
})

const toPerson = (phone: string | null, userId: string | null): Person => ({
  phone,
  user_id: userId,
  name: null,
  username: null,
})
