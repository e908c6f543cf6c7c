/**
 * Sending: check, prepare, ask the channel, settle.
 *
 * Everything that can be refused is refused before anything is made or
 * counted. No connection or transaction is held while the channel is asked,
 * so a slow channel costs nobody else anything. What the channel refuses for
 * the moment is sent again, twice; what may have arrived never is.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { requireQuota } from '../accounts/quota.ts'
import type { Channel, Connection, Content, Person, Sent, Template } from '../channels/channel.ts'
import { getConnection, noteOutcome, requireMsgapp } from '../channels/connections.ts'
import { getTemplate } from '../channels/templates.ts'
import type { ChannelName } from '../contacts/contacts.ts'
import { identitiesOf, type Learnt, learnPeople, type Who } from '../contacts/people.ts'
import { requirePhone } from '../contacts/phone.ts'
import { requireConversation } from '../conversations/conversations.ts'
import { findThreads, resolveThreads, type Thread } from '../conversations/threads.ts'
import { type Batch, createBatch } from '../lib/batch.ts'
import type { Sealer } from '../lib/crypto.ts'
import type { Db, Sql } from '../lib/db.ts'
import { ApiError, badRequest } from '../lib/errors.ts'
import { newId } from '../lib/id.ts'
import { createTtlCache } from '../lib/ttl-cache.ts'
import { keepUploads, tokensIn } from '../media/uploads.ts'
import type { Draft } from './draft.ts'
import type { Follower } from './follow.ts'
import type { Announce } from './intake.ts'
import { getMessage, type MessageStatus } from './messages.ts'
import { createLedger, type NewOutbound, type Outcome, prepareFirst } from './outbound.ts'
import { requestReindex } from './reindex-requests.ts'
import { requireQuoted, requireReachable, requireSendable, requireWindow } from './sendable.ts'
import { type MessageContent, requireFilled, requireTemplate, toTemplateContent } from './template.ts'

export type Sending = {
  /** For the hot statements of every send. */
  sql: Db
  /** For settling them. */
  settleSql: Sql
  sealer: Sealer
  channels: Record<ChannelName, Channel>
  announce: Announce
  /** Where the files are served that members brought. */
  publicUrl: string
  follower?: Follower
  /** Something goes out on a connection now: whoever paces what can wait counts it. */
  onSend?: (connection: Connection) => void
}

export type ToPhone = {
  workspaceId: string
  defaultCountry: string
  to: string
  name: string | undefined
  draft: Draft
  replyTo: string | undefined
  /** The member who sends it; absent: whoever has a key. */
  memberId?: string
  /** An id made for this request before; whoever repeats the request after a crash comes with the same one. */
  subject: Subject | undefined
}

type Subject = { id: string; isRepeat: boolean }

export type SendResult = {
  message_id: string
  msgapp_message_id: string
  conversation_id: string
  contact_id: string
  contact_created: boolean
}

type ToConversation = {
  workspaceId: string
  conversationId: string
  memberId: string
  draft: Draft
  replyTo: string | undefined
  /** As with a number: an id made for this request before. */
  subject: Subject | undefined
}

type Checked = {
  /** In E.164. */
  to: string
  /** Null: the contact would be created. */
  contact_id: string | null
}

export type Sender = {
  /** `POST /messages`: to a number, found or new. */
  sendToPhone(request: ToPhone): Promise<SendResult>
  /** Refuses what `sendToPhone` would refuse before it asks the channel. Changes nothing. */
  checkToPhone(request: ToPhone): Promise<Checked>
  /** A member's reply, on whatever channel the conversation is. Answers the message's id. */
  reply(request: ToConversation): Promise<string>
}

/** Pauses before a message the channel refused for the moment is sent again. */
const pausesMs = [1_000, 2_000]

/** A connection or a template is as it was at most this long ago. */
const freshMs = 200

/** How long a repeated request waits for the outcome of the first, which crashed. */
const repeatPatienceMs = 20_000

export function createSender(sending: Sending): Sender {
  const { sql, settleSql, sealer, channels, announce, publicUrl, follower, onSend = () => {} } = sending
  const find = createBatch({ run: (people: readonly Who[]) => findThreads(sql, people), lanes: 1 })
  const resolve = createBatch({ run: (people: readonly Who[]) => resolveThreads(sql, people) })
  const ledger = createLedger(sql, settleSql, { publicUrl, follower })
  const learn = createLearning(sql)
  // Read once for all who send at the same moment: each was a third as many statements as sends.
  const readMsgapp = createTtlCache((workspaceId) => requireMsgapp(sql, sealer, workspaceId), freshMs)
  const readTemplate = createTtlCache((key) => {
    const [workspaceId = '', name = '', language = ''] = JSON.parse(key) as string[]
    return getTemplate(sql, workspaceId, name, language)
  }, freshMs)

  async function readTarget(request: ToPhone) {
    const { workspaceId, draft } = request
    const phone = requirePhone(request.to, request.defaultCountry, 'to')
    const name = request.name?.trim() || undefined
    const who: Who = { workspace_id: workspaceId, channel: 'msgapp', phone, user_id: null, name: name ?? null }
    const [found, ours, template] = await Promise.all([
      find(who),
      readMsgapp(workspaceId),
      draft.type === 'template' ? readTemplate(JSON.stringify([workspaceId, draft.name, draft.language])) : undefined,
    ])
    return { phone, name, who, found, ours, template }
  }

  async function requireAllowed(request: ToPhone, { found, ours, template }: Awaited<ReturnType<typeof readTarget>>) {
    const { workspaceId, draft, replyTo } = request
    const channel = channels.msgapp
    const quoted = await requireQuoted(sql, workspaceId, channel, found?.conversation_id, replyTo)
    if (draft.type !== 'template') requireWindow(channel, found?.last_inbound_at ?? null, false)
    return { quoted, message: await readContent(channel, ours, draft, template) }
  }

  async function checkToPhone(request: ToPhone): Promise<Checked> {
    const target = await readTarget(request)
    await requireAllowed(request, target)
    await requireQuota(sql, request.workspaceId)
    return { to: target.phone, contact_id: target.found?.contact_id ?? null }
  }

  async function sendToPhone(request: ToPhone): Promise<SendResult> {
    const { workspaceId, draft } = request
    const channel = channels.msgapp
    const target = await readTarget(request)
    const { phone, name, who, found, ours } = target
    const conversationId = found?.conversation_id
    if (request.subject?.isRepeat && found && conversationId) {
      const { id } = request.subject
      const earlier = await outcomeOf(workspaceId, { conversationId, id, channel: 'msgapp' })
      const known = { conversation_id: conversationId, contact_id: found.contact_id, contact_created: false }
      if (earlier) return { message_id: id, msgapp_message_id: earlier.msgapp_message_id ?? '', ...known }
    }
    const allowed = await requireAllowed(request, target)
    const { quoted } = allowed
    const message = await keepFiles(workspaceId, draft, allowed.message)

    const id = request.subject?.id ?? newId()
    // Its id is from before: whoever reads messages in order has read past it.
    if (request.subject?.isRepeat) await requestReindex(sql, workspaceId, id)
    const toRow = ({ conversation_id }: Pick<Thread, 'conversation_id'>): NewOutbound => ({
      ...message.row,
      workspace_id: workspaceId,
      conversation_id,
      id,
      reply_to_message_id: request.replyTo ?? null,
      broadcast_id: null,
      sender_type: 'agent',
      sender_id: request.memberId ?? null,
    })
    const { thread, isPrepared } = found?.conversation_id
      ? { thread: { ...found, conversation_id: found.conversation_id, contact_created: false }, isPrepared: false }
      : // A contact that exists is renamed when the channel accepts the message, not before.
        await makeThread(found ? { ...who, name: null } : who, toRow)
    const person = { phone, user_id: null, name: null, username: null }
    const externalId = await deliver(channel, ours, thread, person, {
      row: toRow(thread),
      isPrepared,
      content: message.content,
      quoted,
      late: false,
      rename: name,
    })
    return {
      message_id: id,
      msgapp_message_id: externalId ?? '',
      conversation_id: thread.conversation_id,
      contact_id: thread.contact_id,
      contact_created: thread.contact_created,
    }
  }

  /** Somebody new. Where the plan has a limit the message is prepared with them, so that neither is there alone. */
  async function makeThread(who: Who, toRow: (thread: Thread) => NewOutbound) {
    const { isLimited } = await requireQuota(sql, who.workspace_id)
    if (!isLimited) return { thread: await resolve(who), isPrepared: false }
    const { thread } = await prepareFirst(sql, async (tx) => {
      const [thread] = await resolveThreads(tx, [who])
      if (!thread) throw new Error('somebody just found or made is not there')
      return { thread, row: toRow(thread) }
    })
    return { thread, isPrepared: true }
  }

  async function reply(request: ToConversation): Promise<string> {
    const { workspaceId, conversationId, memberId, draft, replyTo, subject } = request
    const conversation = await requireConversation(sql, workspaceId, conversationId)
    const id = subject?.id ?? newId()
    const place = { conversationId, id, channel: conversation.channel }
    if (subject?.isRepeat && (await outcomeOf(workspaceId, place))) return id
    const channel = channels[conversation.channel]
    const connection =
      conversation.channel === 'msgapp'
        ? await requireMsgapp(sql, sealer, workspaceId)
        : await getConnection(sql, sealer, workspaceId, conversation.channel)
    if (!connection) throw badRequest(`the workspace has no ${conversation.channel} connection`)
    requireSendable(conversation.channel, draft)
    const quoted = await requireQuoted(sql, workspaceId, channel, conversationId, replyTo)
    const late = draft.type !== 'template' && requireWindow(channel, conversation.last_inbound_at, true)
    const template =
      draft.type === 'template' ? await getTemplate(sql, workspaceId, draft.name, draft.language) : undefined
    const content = await readContent(channel, connection, draft, template)
    const person = await requireReachable(sql, workspaceId, conversation.channel, conversation.contact)
    const message = await keepFiles(workspaceId, draft, content)
    if (subject?.isRepeat) await requestReindex(sql, workspaceId, id)
    const row = {
      ...message.row,
      reply_to_message_id: replyTo ?? null,
      broadcast_id: null,
      sender_type: 'agent',
      sender_id: memberId,
    } as const
    const thread = { ...conversation.contact, contact_id: conversation.contact_id, conversation_id: conversationId }
    await deliver(channel, connection, thread, person, {
      row: { ...row, workspace_id: workspaceId, conversation_id: conversationId, id },
      isPrepared: false,
      content: message.content,
      quoted,
      late,
      rename: undefined,
    })
    return id
  }

  /**
   * Keeps the uploaded files that a draft names from being deleted, and stores their path instead of their address. The last
   * step before the message is prepared, with the quota checked: a file whose message is refused is deleted after a day.
   */
  async function keepFiles(workspaceId: string, draft: Draft, message: MessageContent): Promise<MessageContent> {
    const tokens = tokensIn(JSON.stringify(draft), publicUrl)
    if (tokens.length === 0) return message
    await requireQuota(sql, workspaceId)
    const ours = await keepUploads(sql, workspaceId, tokens)
    const { media_url } = message.row
    const [file] = media_url === null ? [] : ours.filter(({ token }) => tokensIn(media_url, publicUrl).includes(token))
    return file ? { ...message, row: { ...message.row, media_url: file.path } } : message
  }

  /** What goes over the wire and what is stored, from a draft that passed its own rules. */
  async function readContent(
    channel: Channel,
    connection: Connection,
    draft: Draft,
    stored: Template | undefined,
  ): Promise<MessageContent> {
    if (draft.type === 'text') {
      const row = {
        content_type: 'text',
        content_text: draft.text,
        content: null,
        media_url: null,
        template_name: null,
      }
      return { content: draft, row }
    }
    if (draft.type !== 'template') {
      const { type, text, media_url, filename } = draft
      const content = filename ? { filename } : null
      return {
        content: draft,
        row: { content_type: type, content_text: text, content, media_url, template_name: null },
      }
    }
    const fill = (template: Template) => channel.fillTemplate?.(template, draft.params)
    const template = await requireTemplate(sql, channel, connection, draft, stored, (one) => fill(one)?.ok === true)
    return toTemplateContent(draft, requireFilled(draft, fill(template)))
  }

  type Delivery = {
    row: NewOutbound
    isPrepared: boolean
    content: Content
    quoted: string | null
    late: boolean
    rename: string | undefined
  }

  /** Prepare, ask the channel, settle. Answers the channel's id; throws what the caller must know of a refusal. */
  async function deliver(
    channel: Channel,
    connection: Connection,
    thread: Pick<Thread, 'contact_id' | 'conversation_id' | 'name'>,
    person: Person,
    { row, isPrepared, content, quoted, late, rename }: Delivery,
  ): Promise<string | null> {
    const { workspace_id, conversation_id, id } = row
    if (!isPrepared) await ledger.prepare(row)
    announce(workspace_id, channel.name, conversation_id)
    const outgoing = { message_id: id, to: person, content, reply_to: quoted, late_reply: late }
    onSend(connection)
    const sent = await sendPatiently(channel, connection, outgoing)
    const isRenamed = rename !== undefined && rename !== thread.name
    await ledger.settle({
      ...toOutcome(row, sent),
      rename: isRenamed ? { contact_id: thread.contact_id, name: rename } : undefined,
    })
    announce(workspace_id, channel.name, conversation_id)
    await noteSent(sql, connection, thread.contact_id, person, sent, learn)
    if (sent.ok) return sent.external_id
    const unknown = 'the channel did not say whether it took the message, so it is not sent again'
    throw new ApiError(
      'platform_error',
      sent.outcome === 'rejected' ? sent.message : `${sent.message.replace(/\.$/, '')}; ${unknown}`,
    )
  }

  /** The message an earlier run of the same request got through; undefined: it was never prepared. */
  async function outcomeOf(workspaceId: string, place: { conversationId: string; id: string; channel: ChannelName }) {
    const deadline = performance.now() + repeatPatienceMs
    for (;;) {
      const message = await getMessage(sql, workspaceId, place, '')
      if (!message) return undefined
      // What has a name of the channel's was taken, whatever came of it since.
      if (message.message_id !== place.id || reached.has(message.status)) return message
      if (message.status === 'failed')
        throw new ApiError('platform_error', message.error_text ?? 'the channel refused the message')
      if (performance.now() > deadline) {
        throw new ApiError('platform_error', 'the outcome of this message is not known yet, so it is not sent again')
      }
      // Our own channel has nobody who reports, and what is stored there is sent: only that was not written down.
      if (place.channel === 'web') {
        const row = { workspace_id: workspaceId, conversation_id: place.conversationId, id: place.id }
        await ledger.settle({ ...row, status: 'sent', external_id: null, error: null })
        announce(workspaceId, place.channel, place.conversationId)
      } else await sleep(100)
    }
  }

  return { sendToPhone, checkToPhone, reply }
}

/** What only a message that the channel took is. */
const reached = new Set<MessageStatus>(['sent', 'delivered', 'read'])

async function sendPatiently(
  channel: Channel,
  connection: Connection,
  outgoing: Parameters<Channel['send']>[1],
): Promise<Sent> {
  let sent = await channel.send(connection, outgoing)
  for (const pauseMs of pausesMs) {
    if (sent.ok || sent.outcome !== 'rejected' || !sent.again) return sent
    await sleep(pauseMs)
    sent = await channel.send(connection, outgoing)
  }
  return sent
}

/** What the channel's answer means for the message. */
export function toOutcome(
  { workspace_id, conversation_id, id }: Pick<NewOutbound, 'workspace_id' | 'conversation_id' | 'id'>,
  sent: Sent,
): Outcome {
  const status = sent.ok ? 'sent' : sent.outcome === 'rejected' ? 'failed' : 'unknown'
  const external_id = sent.ok ? sent.external_id : null
  return { workspace_id, conversation_id, id, status, external_id, error: sent.ok ? null : sent.message }
}

/** Learning from the answers of sends, together from those that come together. */
export const createLearning = (sql: Sql): Batch<Learnt, undefined> =>
  createBatch({
    run: async (people: readonly Learnt[]) => {
      await learnPeople(sql, people)
      return people.map(() => undefined)
    },
    lanes: 1,
  })

/** Keep what the answer shows besides: whether the connection works, and other names of whom we wrote to. */
export async function noteSent(
  sql: Sql,
  { workspace_id, id, channel }: Connection,
  contactId: string,
  person: Person,
  sent: Sent,
  learn: (learnt: Learnt) => Promise<unknown>,
): Promise<void> {
  if (!sent.ok) {
    if (isConnectionFault(sent)) await noteOutcome(sql, workspace_id, id, sent.message)
    return
  }
  await noteOutcome(sql, workspace_id, id, null)
  if (sent.person && isNewName(sent.person, person)) {
    const { phone, user_id } = sent.person
    await learn({ workspace_id, contact_id: contactId, channel, phone, user_id, name: null })
  }
}

/** Refusals that lie in the connection, not in the message: a token that ran out, a number that is not registered. */
export function isConnectionFault(sent: Sent): boolean {
  if (sent.ok || sent.outcome !== 'rejected') return false
  if (sent.code === null) return sent.isDenied === true
  return connectionFaults.has(sent.code) || (sent.code >= 200 && sent.code < 300)
}
const connectionFaults = new Set([0, 3, 10, 190, 368, 131005, 131031, 131042, 131045, 133006, 133010])

/** Refusals that lie in the template, whoever it is sent to: it is gone, paused or disabled. */
export const isTemplateFault = (sent: Sent): boolean =>
  !sent.ok && sent.outcome === 'rejected' && sent.code !== null && templateFaults.has(sent.code)
const templateFaults = new Set([132001, 132015, 132016])

/** The channel calls them something we did not. */
function isNewName(theirs: Person, ours: Person): boolean {
  const known = new Set(identitiesOf(ours))
  return identitiesOf(theirs).some((name) => !known.has(name))
}
