/**
 * Sends one message: to a phone number, or in a conversation. The steps are target, repeat, check, content, prepare, dispatch
 * and settle, each in the file of its name. Before prepare no message is written and no quota is counted; uploads may be marked as
 * used and templates refreshed.
 */
import type { Times } from '../../../common/times.ts'
import type { Subject } from '../../accounts/idempotency.ts'
import { requireQuota } from '../../accounts/quota.ts'
import type { Channel, Connection } from '../../channels/channel.ts'
import type { ChannelName } from '../../contacts/resource.ts'
import type { Sealer } from '../../lib/crypto.ts'
import { newId } from '../../lib/id.ts'
import type { Db } from '../../lib/postgres/db.ts'
import type { Signals } from '../../signals/signals.ts'
import { requestReindex } from '../reindex-requests.ts'
import { checkTarget } from './check.ts'
import { linkUploads, readContent } from './content.ts'
import { createDispatcher } from './dispatch.ts'
import { createPreparer, type Within } from './prepare.ts'
import { createRepeatReader } from './repeat.ts'
import type { RequestedContent } from './requested-content.ts'
import { idAfterBots, type RunStopper } from './run-stopper.ts'
import { createSettler } from './settle.ts'
import { createTargetFinder, getThreadOfMessage, type Target, type TargetRef, type TargetThread } from './target.ts'

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
  runs?: RunStopper | undefined
}

export type SendRequest = {
  workspaceId: string
  to: TargetRef
  requested: RequestedContent
  /** The message to quote. */
  replyTo?: string | undefined
  /** The member who sends it; undefined when an API key or an automation does. */
  memberId?: string | undefined
  /** The run of an automation that sends it, or null if the service itself does, and what is written in the same transaction. */
  run?: { id: string | null; within: Within } | undefined
  /** The id of the message. It is stored with the `Idempotency-Key`, so a repeated request has the same one. */
  subject?: Subject | undefined
}

export type SendResult = {
  message_id: string
  /** Empty on the other channels. */
  msgapp_message_id: string
  conversation_id: string
  contact_id: string
  contact_created: boolean
}

type CheckResult = {
  /** In E.164. */
  to: string
  /** Null when sending would create the contact. */
  contact_id: string | null
}

export type Sender = {
  send(request: SendRequest): Promise<SendResult>
  /** Applies the checks of `send`. Changes nothing and does not send. */
  check(request: SendRequest): Promise<CheckResult>
  /** Checks a message that is sent later: its content, but neither the reply window nor the quota. */
  checkContent(request: SendRequest): Promise<void>
}

export function createSender(options: SenderOptions): Sender {
  const { pools, sealer, channels, signals, publicUrl, times, onSend = () => {}, runs } = options
  const sql = pools.messages
  // Without a follower: these messages belong to no broadcast.
  const settle = createSettler(pools.settle, { publicUrl })
  const findTarget = createTargetFinder({ sql, sealer, channels })
  const getEarlierSend = createRepeatReader({ sql, settle, signals, times })
  const prepare = createPreparer(sql)
  const dispatch = createDispatcher({ sql, settle, signals, onSend, times })

  async function checkRequest(target: Target, request: SendRequest, isLater = false) {
    const checked = await checkTarget(sql, target, request, isLater)
    return { ...checked, content: await readContent(sql, target, checked.connection, request.requested) }
  }

  async function send(request: SendRequest): Promise<SendResult> {
    const { workspaceId, subject, memberId } = request
    const target = await findTarget(workspaceId, request.to, request.requested)
    const { channel, newName } = target
    // The first attempt may have used another number of the workspace.
    const known = subject?.isRepeat ? await getThreadOfMessage(sql, workspaceId, subject.id) : undefined
    if (subject && known) {
      const earlier = await getEarlierSend(target, known.conversation_id, subject.id)
      if (earlier) return toResult(subject.id, known, earlier.msgapp_message_id)
    }
    const checked = await checkRequest(target, request)
    const { connection, person, quoted, quotedId, isLate } = checked
    const { content, row } = await linkUploads(sql, workspaceId, checked.content, publicUrl)
    const id = subject?.id ?? newId()
    // The digest reads messages in the order of their ids and has passed this one.
    if (subject?.isRepeat) await requestReindex(sql, workspaceId, id)
    const message = {
      ...row,
      workspace_id: workspaceId,
      id,
      sender_type: request.run ? ('bot' as const) : ('agent' as const),
      sender_id: memberId ?? null,
      reply_to_message_id: quotedId,
      broadcast_id: null,
      run_id: request.run?.id ?? null,
      ...(channel.name === 'web' ? { visitor_id: person.user_id } : {}),
    }
    const thread = await prepare(target, message, request.run?.within ?? (await takeOver(request)))
    const { conversation_id, contact_id, name, message_id } = thread
    const externalId = await dispatch({
      channel,
      connection,
      message: { workspace_id: workspaceId, conversation_id, id: message_id },
      outgoing: { to: person, content, reply_to: quoted, late_reply: isLate },
      contactId: contact_id,
      rename: newName && newName !== name ? newName : undefined,
    })
    return toResult(message_id, thread, channel.name === 'msgapp' ? externalId : null)
  }

  /** A member who replies takes over from the automations of the conversation. */
  async function takeOver({ workspaceId, memberId, subject }: SendRequest): Promise<Within | undefined> {
    if (!memberId || !runs || !(await runs.isAutomated(sql, workspaceId))) return undefined
    return async (sql, { conversation_id }, id) => {
      await runs.stop(sql, workspaceId, conversation_id, memberId)
      const later = await idAfterBots(sql, workspaceId, conversation_id, id)
      if (later !== id) await subject?.renew?.(sql, later)
      return later
    }
  }

  return {
    send,
    async check(request) {
      const target = await findTarget(request.workspaceId, request.to, request.requested)
      const { person } = await checkRequest(target, request)
      await requireQuota(sql, request.workspaceId)
      return { to: person.phone ?? '', contact_id: target.contactId ?? null }
    },
    async checkContent(request) {
      const target = await findTarget(request.workspaceId, request.to, request.requested)
      await checkRequest(target, request, true)
    },
  }
}

function toResult(
  id: string,
  { conversation_id, contact_id, contact_created }: TargetThread,
  msgappId: string | null,
): SendResult {
  return { message_id: id, msgapp_message_id: msgappId ?? '', conversation_id, contact_id, contact_created }
}
