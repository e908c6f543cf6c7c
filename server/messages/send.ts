/**
 * Sends one message: to a phone number, or in a conversation. The header of `routes.ts` lists the files
 * of the journey. Every check runs before anything is written or counted.
 */
import type { Times } from '../../common/times.ts'
import { requireQuota } from '../accounts/quota.ts'
import type { Signals } from '../accounts/signals.ts'
import type { Channel, Connection, Person } from '../channels/channel.ts'
import { getConnection, requireMsgapp } from '../channels/connections.ts'
import { getTemplate } from '../channels/templates.ts'
import type { ChannelName } from '../contacts/contacts.ts'
import type { PersonRef } from '../contacts/people.ts'
import { requirePhone } from '../contacts/phone.ts'
import { requireConversation } from '../conversations/conversations.ts'
import { findThreads, type Thread } from '../conversations/threads.ts'
import { createBatch } from '../lib/batch.ts'
import type { Sealer } from '../lib/crypto.ts'
import type { Db } from '../lib/db.ts'
import { ApiError, badRequest } from '../lib/errors.ts'
import { newId } from '../lib/id.ts'
import { createTtlCache } from '../lib/ttl-cache.ts'
import { linkUploads, readContent } from './content.ts'
import { createDispatcher } from './dispatch.ts'
import { type Draft, readQuote } from './draft.ts'
import { createPreparer } from './prepare.ts'
import { requestReindex } from './reindex-requests.ts'
import { createRepeatReader } from './repeat.ts'
import { requireQuoted, requireReachable, requireSendable, requireWindow } from './sendable.ts'
import { createSettler } from './settle.ts'
import { fillContactFields, type TemplateRecipient } from './template.ts'

export type SenderOptions = {
  pools: { messages: Db; settle: Db }
  sealer: Sealer
  channels: Record<ChannelName, Channel>
  signals: Signals
  /** The base URL of the files that members uploaded. */
  publicUrl: string
  times: Times['messages']
  /** Called before each send, so that the pace of broadcasts on this connection counts it. */
  onSend?: (connection: Connection) => void
}

/** The id of the message. It is stored with the `Idempotency-Key`, so a repeated request has the same one. */
type Subject = { id: string; isRepeat: boolean }

export type SendRequest = {
  workspaceId: string
  defaultCountry: string
  to: string
  name: string | undefined
  draft: Draft
  replyTo: string | undefined
  /** The member who sends it; undefined when an API key does. */
  memberId?: string
  subject: Subject | undefined
}

export type SendResult = {
  message_id: string
  msgapp_message_id: string
  conversation_id: string
  contact_id: string
  contact_created: boolean
}

type ReplyRequest = {
  workspaceId: string
  conversationId: string
  /** The member who sends it; undefined when an API key does. */
  memberId?: string
  draft: Draft
  replyTo: string | undefined
  subject: Subject | undefined
}

type CheckResult = {
  /** In E.164. */
  to: string
  /** Null when sending would create the contact. */
  contact_id: string | null
}

export type Sender = {
  /** Sends to a phone number. Creates the contact and the conversation where they do not exist. */
  sendToPhone(request: SendRequest): Promise<SendResult>
  /** Applies the checks of `sendToPhone`. Changes nothing and does not call the channel. */
  checkToPhone(request: SendRequest): Promise<CheckResult>
  /** Sends a reply on the channel of the conversation. Returns the message's id. */
  reply(request: ReplyRequest): Promise<string>
}

/** How long a connection and a template are cached. */
const cacheMs = 200

export function createSender(options: SenderOptions): Sender {
  const { pools, sealer, channels, signals, publicUrl, times, onSend = () => {} } = options
  const sql = pools.messages
  const findThread = createBatch({
    run: (people: readonly PersonRef[]) => findThreads(sql, people),
    flowOf: ({ workspace_id }) => workspace_id,
    lanes: 1,
  })
  // Without a follower: these messages belong to no broadcast.
  const settle = createSettler(pools.settle, { publicUrl })
  const getEarlierSend = createRepeatReader({ sql, settle, signals, times })
  const preparer = createPreparer(sql)
  const dispatch = createDispatcher({ sql, settle, signals, onSend, times })
  // Concurrent sends share one read. Without it, each of the two reads was a third of all statements.
  const readMsgapp = createTtlCache((workspaceId) => requireMsgapp(sql, sealer, workspaceId), cacheMs)
  const readTemplate = createTtlCache((key) => {
    const [workspaceId = '', name = '', language = ''] = JSON.parse(key) as string[]
    return getTemplate(sql, workspaceId, name, language)
  }, cacheMs)

  /** Reads the contact, the conversation, the connection and the template of a request. */
  async function readTarget({ workspaceId, defaultCountry, to, name, draft }: SendRequest) {
    const phone = requirePhone(to, defaultCountry, 'to')
    const newName = name?.trim() || null
    const who: PersonRef = { workspace_id: workspaceId, channel: 'msgapp', phone, user_id: null, name: newName }
    const [found, connection, template] = await Promise.all([
      findThread(who),
      readMsgapp(workspaceId),
      draft.type === 'template' ? readTemplate(JSON.stringify([workspaceId, draft.name, draft.language])) : undefined,
    ])
    return { phone, newName, who, found, connection, template }
  }

  type Target = Awaited<ReturnType<typeof readTarget>>

  async function requireAllowed(request: SendRequest, { phone, newName, found, connection, template }: Target) {
    const { workspaceId, replyTo } = request
    const channel = channels.msgapp
    const quote = readQuote(request.draft, replyTo)
    const quoted = await requireQuoted(sql, workspaceId, channel, found?.conversation_id, quote)
    if (request.draft.type !== 'template') requireWindow(channel, found?.last_inbound_at ?? null, false)
    const recipient = { id: found?.contact_id, phone: found?.phone ?? phone, name: newName }
    const draft = await fillDraft(workspaceId, request.draft, recipient)
    const message = await readContent(sql, channel, connection, draft, template)
    return { quoted, quotedId: quote?.id ?? null, message }
  }

  async function fillDraft(workspaceId: string, draft: Draft, recipient: TemplateRecipient): Promise<Draft> {
    if (draft.type !== 'template' || !draft.contact_fields) return draft
    return { ...draft, params: await fillContactFields(sql, workspaceId, draft.params, recipient) }
  }

  async function checkToPhone(request: SendRequest): Promise<CheckResult> {
    const target = await readTarget(request)
    await requireAllowed(request, target)
    await requireQuota(sql, request.workspaceId)
    return { to: target.phone, contact_id: target.found?.contact_id ?? null }
  }

  async function sendToPhone(request: SendRequest): Promise<SendResult> {
    const { workspaceId, draft, subject } = request
    const target = await readTarget(request)
    const { phone, newName, who, found, connection } = target
    const conversationId = found?.conversation_id
    if (subject?.isRepeat && found && conversationId) {
      const earlier = await getEarlierSend(workspaceId, { conversationId, id: subject.id, channel: 'msgapp' })
      if (earlier) {
        const result = { conversation_id: conversationId, contact_id: found.contact_id, contact_created: false }
        return { message_id: subject.id, msgapp_message_id: earlier.msgapp_message_id ?? '', ...result }
      }
    }
    const allowed = await requireAllowed(request, target)
    const { content, row } = await linkUploads(sql, workspaceId, draft, allowed.message, publicUrl)

    const id = subject?.id ?? newId()
    // The digest reads messages in the order of their ids and has passed this one.
    if (subject?.isRepeat) await requestReindex(sql, workspaceId, id)
    const message = {
      ...row,
      workspace_id: workspaceId,
      id,
      reply_to_message_id: allowed.quotedId,
      broadcast_id: null,
      sender_type: 'agent',
      sender_id: request.memberId ?? null,
    } as const
    let thread: Thread | undefined
    if (found && conversationId) {
      thread = { ...found, conversation_id: conversationId, contact_created: false }
      await preparer.prepare({ ...message, conversation_id: conversationId }).catch((error: unknown) => {
        // The contact was erased or merged at the same moment: the number leads elsewhere now.
        if (!(error instanceof ApiError && error.code === 'not_found')) throw error
        thread = undefined
      })
    }
    // An existing contact is renamed when the channel accepts the message, not before.
    thread ??= await preparer.prepareFirst(found ? { ...who, name: null } : who, message)

    const { conversation_id, contact_id, contact_created } = thread
    const externalId = await dispatch({
      channel: channels.msgapp,
      connection,
      message: { workspace_id: workspaceId, conversation_id, id },
      outgoing: { to: toPerson(phone), content, reply_to: allowed.quoted, late_reply: false },
      contactId: contact_id,
      rename: newName && newName !== thread.name ? newName : undefined,
    })
    return { message_id: id, msgapp_message_id: externalId ?? '', conversation_id, contact_id, contact_created }
  }

  async function reply(request: ReplyRequest): Promise<string> {
    const { workspaceId, conversationId, memberId, subject } = request
    const conversation = await requireConversation(sql, workspaceId, conversationId)
    const channel = channels[conversation.channel]
    const id = subject?.id ?? newId()
    if (subject?.isRepeat && (await getEarlierSend(workspaceId, { conversationId, id, channel: channel.name })))
      return id

    const connection =
      channel.name === 'msgapp'
        ? await requireMsgapp(sql, sealer, workspaceId)
        : await getConnection(sql, sealer, workspaceId, channel.name)
    if (!connection) throw badRequest(`the workspace has no ${channel.name} connection`)
    requireSendable(channel.name, request.draft)
    const quote = readQuote(request.draft, request.replyTo)
    const quoted = await requireQuoted(sql, workspaceId, channel, conversationId, quote)
    const isByMember = memberId !== undefined
    const isLate = request.draft.type !== 'template' && requireWindow(channel, conversation.window_from, isByMember)
    const { id: contactId, phone, name } = conversation.contact
    const draft = await fillDraft(workspaceId, request.draft, { id: contactId, phone, name })
    const template =
      draft.type === 'template' ? await getTemplate(sql, workspaceId, draft.name, draft.language) : undefined
    const checked = await readContent(sql, channel, connection, draft, template)
    const to = await requireReachable(sql, workspaceId, channel.name, conversation.contact)
    const { content, row } = await linkUploads(sql, workspaceId, draft, checked, publicUrl)

    if (subject?.isRepeat) await requestReindex(sql, workspaceId, id)
    const message = { workspace_id: workspaceId, conversation_id: conversationId, id }
    await preparer.prepare({
      ...row,
      ...message,
      ...(channel.name === 'web' ? { visitor_id: to.user_id } : {}),
      reply_to_message_id: quote?.id ?? null,
      broadcast_id: null,
      sender_type: 'agent',
      sender_id: memberId ?? null,
    })
    await dispatch({
      channel,
      connection,
      message,
      outgoing: { to, content, reply_to: quoted, late_reply: isLate },
      contactId: conversation.contact_id,
      rename: undefined,
    })
    return id
  }

  return { sendToPhone, checkToPhone, reply }
}

const toPerson = (phone: string): Person => ({ phone, user_id: null, name: null, username: null })
