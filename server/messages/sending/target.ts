/**
 * The target of a message: a phone number or a conversation, turned into everything that the steps of a send read. Writes
 * nothing and refuses only what does not exist; `check.ts` has the rules.
 */
import type { Channel, Connection, Person, Template } from '../../channels/channel.ts'
import { getConnection } from '../../channels/connections.ts'
import { getTemplate } from '../../channels/templates.ts'
import type { PersonRef } from '../../contacts/people.ts'
import { identityOfPhone, requirePhone } from '../../contacts/phone.ts'
import type { ChannelName } from '../../contacts/resource.ts'
import { findThreads, type Thread } from '../../conversations/threads.ts'
import { createBatch } from '../../lib/batch.ts'
import type { Sealer } from '../../lib/crypto.ts'
import { notFound } from '../../lib/errors.ts'
import { isUuid } from '../../lib/id.ts'
import type { Sql } from '../../lib/postgres/db.ts'
import { createTtlCache } from '../../lib/ttl-cache.ts'
import type { RequestedContent } from './requested-content.ts'

/**
 * What a caller sends to. The contact and the conversation of a phone number are created where they do not exist. `name`: the
 * contact's new name.
 */
export type TargetRef =
  | { phone: string; defaultCountry: string; name?: string | undefined }
  | { conversationId: string }

export type TargetThread = Pick<Thread, 'conversation_id' | 'contact_id' | 'contact_created' | 'name'>

export type Target = {
  workspaceId: string
  channel: Channel
  /** Undefined when the workspace has none. */
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

type FoundTarget = Omit<Target, 'connection' | 'template'>
type FinderOptions = { sql: Sql; sealer: Sealer; channels: Record<ChannelName, Channel> }

/** Returns a function that finds targets. It throws 400 for a wrong number and 404 for an unknown conversation. */
export function createTargetFinder({ sql, sealer, channels }: FinderOptions) {
  const findThread = createBatch({
    run: (people: readonly PersonRef[]) => findThreads(sql, people),
    flowOf: ({ workspace_id }) => workspace_id,
    lanes: 1,
  })
  // Concurrent sends share one read. Without it, each of the two reads was a third of all statements.
  const readConnection = createTtlCache((key) => {
    const [workspaceId = '', channel] = key.split(' ')
    return getConnection(sql, sealer, workspaceId, channel as ChannelName)
  }, cacheMs)
  const readTemplate = createTtlCache((key) => {
    const [workspaceId = '', name = '', language = ''] = JSON.parse(key) as string[]
    return getTemplate(sql, workspaceId, name, language)
  }, cacheMs)

  async function findNumber(workspaceId: string, phone: string, newName: string | null): Promise<FoundTarget> {
    const who: PersonRef = { workspace_id: workspaceId, channel: 'msgapp', phone, user_id: null, name: newName }
    const base = { workspaceId, channel: channels.msgapp, person: toPerson(phone, null), newName }
    const found = await findThread(who)
    if (!found) return { ...base, who, contactId: undefined, thread: undefined, windowFrom: null }
    const { conversation_id, contact_id, name, last_inbound_at: windowFrom } = found
    const thread = conversation_id ? { conversation_id, contact_id, contact_created: false, name } : undefined
    // An existing contact is renamed when the channel accepts the message, not before.
    return { ...base, who: { ...who, name: null }, contactId: contact_id, thread, windowFrom }
  }

  async function findConversation(workspaceId: string, conversationId: string): Promise<FoundTarget> {
    const found = await requireThread(sql, workspaceId, conversationId)
    const { contact_id, name, last_inbound_at: windowFrom } = found
    const thread = { conversation_id: conversationId, contact_id, contact_created: false, name }
    const base = { workspaceId, channel: channels[found.channel], person: personOf(found), newName: null }
    return { ...base, who: undefined, contactId: contact_id, thread, windowFrom }
  }

  return async (workspaceId: string, to: TargetRef, requested: RequestedContent): Promise<Target> => {
    const found =
      'phone' in to
        ? await findNumber(workspaceId, requirePhone(to.phone, to.defaultCountry, 'to'), to.name?.trim() || null)
        : await findConversation(workspaceId, to.conversationId)
    const [connection, template] = await Promise.all([
      readConnection(`${workspaceId} ${found.channel.name}`),
      requested.type === 'template'
        ? readTemplate(JSON.stringify([workspaceId, requested.name, requested.language]))
        : undefined,
    ])
    return { ...found, connection, template }
  }
}

type StoredThread = {
  channel: ChannelName
  contact_id: string
  phone: string | null
  name: string | null
  identities: string[]
  last_inbound_identity: string | null
  last_inbound_at: string | null
  blocked_at: string | null
  is_channel_blocked: boolean
}

export async function requireThread(sql: Sql, workspaceId: string, conversationId: string): Promise<StoredThread> {
  const [found] = isUuid(conversationId)
    ? await sql<StoredThread[]>`
        select v.channel, v.contact_id, c.phone, c.name, v.last_inbound_identity, v.last_inbound_at, v.blocked_at,
          v.is_channel_blocked, array(
          select i.external_id from contact_identities i
          where i.workspace_id = v.workspace_id and i.contact_id = v.contact_id and i.channel = v.channel
          order by i.external_id
        ) as identities
        from conversations v
        join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
        where v.workspace_id = ${workspaceId} and v.id = ${conversationId}`
    : []
  if (!found) throw notFound('conversation')
  return found
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
