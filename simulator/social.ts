/**
 * The social side: `POST /{account_id}/messages`, and who a user is.
 *
 * Unlike on the other channel a closed window is said at once, nobody tells of
 * delivery, and the account hears an echo of what it sent itself.
 */
import type { ServerResponse } from 'node:http'
import type { AccountState } from './accounts.ts'
import { type Failure, failure } from './errors.ts'
import { isObject, type Json, sendJson } from './http.ts'
import { createMid } from './ids.ts'
import { isWindowOpen, takeAllowance } from './limits.ts'
import { tryParse } from './messages.ts'
import { type InFlight, planOf } from './statuses.ts'
import { fullFailure, refuse, sendAccepted, sendFailure, type World } from './world.ts'

const isText = (value: unknown): value is string => typeof value === 'string'

export const socialIdPattern = /^[\x21-\x7e]{1,128}$/

const noSuchUser = () =>
  failure(100, undefined, {
    subcode: 2534014,
    type: 'IGApiException',
    message: '(#100) No matching user found',
  })
const outsideWindow = () =>
  failure(10, undefined, {
    subcode: 2534022,
    type: 'IGApiException',
    message: '(#10) This message is sent outside of allowed window.',
  })
const invalid = (why: string) => failure(100, why, { message: `(#100) ${why}`, type: 'IGApiException' })

export function acceptSocial(world: World, state: AccountState, bytes: Buffer, response: ServerResponse) {
  const text = bytes.toString('utf8')
  const body = tryParse(text)
  if (!isObject(body)) return sendFailure(response, invalid('A JSON object is required'))
  const userId = isObject(body.recipient) ? body.recipient.id : undefined
  if (!isText(userId) || !socialIdPattern.test(userId) || /["\\]/.test(userId)) {
    return sendFailure(response, invalid('The parameter recipient is required'))
  }
  if (body.sender_action !== undefined) return acceptAction(state, body.sender_action, userId, response)

  const fate = world.faults.fateOf(state, userId)
  if (refuse(world, fate, response)) return
  const now = Date.now()
  const bad = checkSocial(state, body, userId, now)
  if (bad) return sendFailure(response, bad, fate.delayMs)
  const { account } = state
  if (!account) return sendFailure(response, failure(2))
  if (!takeAllowance(state, account.messages_per_second, now)) return sendFailure(response, failure(4), fate.delayMs)

  if (!world.journal.hasRoom()) return sendFailure(response, fullFailure(world))

  const id = createMid(account.account_id)
  const plan = planOf(fate, true)
  const raw = text.includes('\n') ? JSON.stringify(body) : text
  const line =
    `{"k":"m","p":"${plan}"${fate.twice ? ',"x":1' : ''},"r":"${userId}","message_id":"${id}",` +
    `"workspace_id":"${state.workspace_id}","channel":"social","to":"${userId}","at":"${new Date(now).toISOString()}","body":${raw}}`
  world.journal.append(line, (offset, length) => {
    const seq = world.sent.add(state.workspace_id, userId, offset, length)
    const entry = world.phones.add(state.workspace_id, 'social', userId, {
      id,
      from: 'business',
      offset,
      length,
      status: 'accepted',
    })
    sendAccepted(response, `{"recipient_id":"${userId}","message_id":"${id}"}`, fate)
    world.phones.changed(entry)
    world.statuses.begin({
      ...socialInFlight(state, body, userId),
      seq,
      id,
      at: now,
      plan,
      twice: fate.twice,
      entry,
      taken: 0,
    })
  })
}

/** What an echo repeats, also when the journal is read back. */
export function socialInFlight(
  state: AccountState,
  body: Json,
  recipient: string,
): Pick<InFlight, 'state' | 'recipient' | 'callback_data' | 'content'> {
  const message = isObject(body.message) ? body.message : {}
  const attachments = attachmentsOf(message)
  const reply = isObject(body.reply_to) ? { reply_to: body.reply_to } : {}
  return {
    state,
    recipient,
    callback_data: undefined,
    content: {
      message: {
        ...(isText(message.text) ? { text: message.text } : {}),
        ...(attachments.length > 0 ? { attachments } : {}),
        ...(isText(message.metadata) ? { metadata: message.metadata } : {}),
        ...reply,
      },
    },
  }
}

/** `attachments` as an array or an object, or `attachment`. */
export function attachmentsOf(message: Json): Json[] {
  const given = message.attachments ?? message.attachment
  return (Array.isArray(given) ? given : given === undefined ? [] : [given]).filter(isObject)
}

function checkSocial(state: AccountState, body: Json, userId: string, now: number): Failure | undefined {
  const { message, tag, messaging_type } = body
  if (!isObject(message)) return invalid('The parameter message is required')
  if (tag !== undefined && tag !== 'HUMAN_AGENT') return invalid('tag: only HUMAN_AGENT is supported')
  if (messaging_type === 'MESSAGE_TAG' && tag === undefined) return invalid('tag: required with MESSAGE_TAG')
  const { text } = message
  const hasAttachments = message.attachments !== undefined || message.attachment !== undefined
  if ((text === undefined) === !hasAttachments) return invalid('message: either text or attachments')
  if (text !== undefined) {
    if (!isText(text) || text === '') return invalid('message.text: a string that is not empty')
    if (Buffer.byteLength(text) > 1000) return invalid('message.text: at most 1000 bytes in UTF-8')
  } else {
    const wrong = checkAttachments(attachmentsOf(message))
    if (wrong) return wrong
  }
  if (!state.customers.has(userId)) return noSuchUser()
  return isWindowOpen(state, userId, now, tag === 'HUMAN_AGENT' ? 7 : 1) ? undefined : outsideWindow()
}

const attachmentTypes = new Set(['image', 'video', 'audio', 'file'])

function checkAttachments(attachments: readonly Json[]): Failure | undefined {
  if (attachments.length === 0 || attachments.length > 10) return invalid('message.attachments: 1 to 10')
  for (const { type, payload } of attachments) {
    if (type === 'like_heart' || type === 'MEDIA_SHARE') continue
    if (!isText(type) || !attachmentTypes.has(type)) return invalid('attachment.type: image, video, audio or file')
    if (attachments.length > 1 && type !== 'image') return invalid('message.attachments: several only of type image')
    const url = isObject(payload) ? payload.url : undefined
    if (!isText(url) || !/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
      return invalid('payload.url: an http address')
  }
  return undefined
}

const actions = new Set<unknown>(['typing_on', 'typing_off', 'mark_seen', 'react', 'unreact'])

function acceptAction(state: AccountState, action: unknown, userId: string, response: ServerResponse) {
  if (!actions.has(action)) return sendFailure(response, invalid(`sender_action: one of ${[...actions].join(', ')}`))
  if (!state.customers.has(userId)) return sendFailure(response, noSuchUser())
  sendJson(response, 200, JSON.stringify({ recipient_id: userId }))
}

/** `GET /{user}?fields=…` */
export function sendProfile(
  world: World,
  state: AccountState,
  userId: string,
  fields: string | null,
  response: ServerResponse,
) {
  const customer = state.customers.get(userId)
  if (!customer) return sendFailure(response, noSuchUser())
  const all: Json = {
    name: customer.name,
    username: customer.username ?? `user_${userId.slice(-8)}`,
    profile_pic: world.media.openLinkOf(world.media.makeUp('image')),
    follower_count: 42,
    is_user_follow_business: false,
    is_business_follow_user: false,
    is_verified_user: false,
  }
  const wanted = (fields ?? 'name,username').split(',').map((field) => field.trim())
  const chosen = Object.fromEntries(Object.entries(all).filter(([name]) => wanted.includes(name)))
  sendJson(response, 200, JSON.stringify({ ...chosen, id: userId }))
}
