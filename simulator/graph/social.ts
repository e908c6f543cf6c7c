/**
 * The social channel: `POST /{account_id}/messages`, attachments and user profiles.
 *
 * Unlike msgapp it refuses a send outside the 24-hour window at once, does not
 * report delivery, and sends the account an echo of its own messages.
 */
import type { ServerResponse } from 'node:http'
import { type InFlightMessage, planOf } from '../delivery/statuses.ts'
import type { AccountState } from '../state/accounts.ts'
import { isWindowOpen, takeAllowance } from '../state/rate-limits.ts'
import { type Failure, failure } from '../wire/errors.ts'
import { isHttpUrl, isObject, isText, type Json, objectOf, parseMimeType, sendObject } from '../wire/http.ts'
import { createMid, createObjectId } from '../wire/ids.ts'
import type { Params, UploadedFile } from '../wire/params.ts'
import type { World } from '../world.ts'
import { accept } from './accept.ts'
import { journalFullFailure, refuse, sendFailure } from './answers.ts'
import { put } from './objects.ts'

export const socialIdPattern = /^[\x21-\x7e]{1,128}$/

const errorType = 'IGApiException'
const noSuchUser = () =>
  failure(100, undefined, { subcode: 2534014, type: errorType, message: '(#100) No matching user found' })
const outsideWindow = () =>
  failure(10, undefined, {
    subcode: 2534022,
    type: errorType,
    message: '(#10) This message is sent outside of allowed window.',
  })
const invalid = (why: string) => failure(100, why, { type: errorType, message: `(#100) ${why}` })

export function acceptSocial(world: World, state: AccountState, params: Params, response: ServerResponse) {
  const body = withFile(world, state, params)
  const text = body === params.values ? (params.raw ?? JSON.stringify(body)) : JSON.stringify(body)
  const userId = isObject(body.recipient) ? body.recipient.id : undefined
  if (!isText(userId) || !socialIdPattern.test(userId) || /["\\]/.test(userId)) {
    return sendFailure(response, invalid('The parameter recipient is required'))
  }
  const isReaction = body.sender_action === 'react' || body.sender_action === 'unreact'
  if (body.sender_action !== undefined && !isReaction) return acceptAction(state, body.sender_action, userId, response)

  const effects = world.faults.effectsOn(state, userId)
  if (refuse(world, effects, response)) return
  const now = Date.now()
  const refusal = isReaction ? checkReaction(state, body, userId, now) : checkSocial(state, body, userId, now)
  if (refusal) return sendFailure(response, refusal, effects.delayMs)
  const { account } = state
  if (!account) return sendFailure(response, failure(2))
  if (!takeAllowance(state, account.messages_per_second, now)) return sendFailure(response, failure(4), effects.delayMs)

  if (!world.journal.hasCapacity()) return sendFailure(response, journalFullFailure(world))

  const id = createMid(account.account_id)
  accept(world, state, response, {
    id,
    recipient: userId,
    to: userId,
    at: now,
    // The provider reports nothing about a reaction of the account itself.
    plan: isReaction ? 'silent' : planOf(effects, true),
    effects,
    body,
    text,
    reportFields: socialReportFields(state, body, userId),
    answer: isReaction ? `{"recipient_id":"${userId}"}` : `{"recipient_id":"${userId}","message_id":"${id}"}`,
  })
}

/** Stores a file that was uploaded with the message and replaces it by a link. */
function withFile(world: World, state: AccountState, { values, files }: Params): Json {
  const file = files.get('filedata')
  const message = objectOf(values.message)
  const [attachment] = attachmentsOf(message)
  if (!file || !attachment) return values
  const url = saveFile(world, state, file)
  return { ...values, message: { attachment: { ...attachment, payload: { url } } } }
}

function saveFile(
  { media }: World,
  { workspace_id }: AccountState,
  { mime_type, filename, bytes }: UploadedFile,
): string {
  const type = parseMimeType(mime_type) ?? 'application/octet-stream'
  return media.publicLink(
    media.save({ mime_type: type, filename: filename ?? null, workspace_id, from: 'business' }, bytes),
  )
}

/** `POST /me/message_attachments`: a reusable file or link. */
export async function postAttachment(world: World, state: AccountState, params: Params, response: ServerResponse) {
  const { message } = withFile(world, state, params)
  const [attachment] = attachmentsOf(objectOf(message))
  const refusal = attachment ? checkAttachments(state, [attachment]) : invalid('The parameter message is required')
  if (refusal || !attachment) return sendFailure(response, refusal ?? failure(100))
  const id = createObjectId()
  const payload = objectOf(attachment.payload)
  const full = await put(world, state, attachmentName(id), { url: payload.url })
  if (full) return sendFailure(response, full)
  sendObject(response, { attachment_id: id })
}

const attachmentName = (id: unknown) => `attachment/${String(id)}`

/** The link of an attachment: its own, or that of the upload it refers to. */
export function linkOfAttachment({ business: { objects } }: AccountState, { payload }: Json): string | undefined {
  if (!isObject(payload)) return undefined
  const url =
    payload.attachment_id === undefined ? payload.url : objects.get(attachmentName(payload.attachment_id))?.url
  return isText(url) ? url : undefined
}

/** The fields of a message that its echo and read receipt need; replay reads them from the journal. */
export function socialReportFields(
  state: AccountState,
  body: Json,
  recipient: string,
): Pick<InFlightMessage, 'state' | 'recipient' | 'callback_data' | 'content'> {
  const message = objectOf(body.message)
  const attachments = attachmentsOf(message).map((each) => {
    const url = each.type === 'template' ? undefined : linkOfAttachment(state, each)
    return url === undefined ? each : { ...each, payload: { url } }
  })
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
  const value = message.attachments ?? message.attachment
  return (Array.isArray(value) ? value : value === undefined ? [] : [value]).filter(isObject)
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
    const error = message.quick_replies === undefined ? undefined : checkQuickReplies(message.quick_replies)
    if (error) return error
  } else {
    const error = checkAttachments(state, attachmentsOf(message))
    if (error) return error
  }
  if (!state.customers.has(userId)) return noSuchUser()
  return isWindowOpen(state, userId, now, tag === 'HUMAN_AGENT' ? 7 : 1) ? undefined : outsideWindow()
}

const attachmentTypes = new Set(['image', 'video', 'audio', 'file'])

function checkAttachments(state: AccountState, attachments: readonly Json[]): Failure | undefined {
  if (attachments.length === 0 || attachments.length > 10) return invalid('message.attachments: 1 to 10')
  for (const attachment of attachments) {
    const { type, payload } = attachment
    if (type === 'like_heart' || type === 'MEDIA_SHARE') continue
    if (attachments.length > 1 && type !== 'image') return invalid('message.attachments: several only of type image')
    if (type === 'template') return checkTemplate(objectOf(payload))
    if (!isText(type) || !attachmentTypes.has(type)) {
      return invalid('attachment.type: image, video, audio, file or template')
    }
    const url = linkOfAttachment(state, attachment)
    if (!isHttpUrl(url)) {
      return invalid('payload: the url of a file, or the attachment_id of an upload')
    }
  }
  return undefined
}

const isTextUpTo = (value: unknown, max: number): boolean =>
  isText(value) && value !== '' && [...value.slice(0, 2 * max + 1)].length <= max

/** A generic template has up to ten cards, a button template a text with up to three buttons. */
function checkTemplate({ template_type: type, elements, text, buttons }: Json): Failure | undefined {
  if (type === 'button') {
    if (!isTextUpTo(text, 640)) return invalid('payload.text: 1 to 640 characters')
    return Array.isArray(buttons) && buttons.length > 0 ? checkButtons(buttons) : invalid('payload.buttons: 1 to 3')
  }
  if (type !== 'generic') return invalid('payload.template_type: generic or button')
  if (!Array.isArray(elements) || elements.length === 0 || elements.length > 10) {
    return invalid('payload.elements: 1 to 10')
  }
  for (const element of elements) {
    if (!isObject(element) || !isTextUpTo(element.title, 80)) return invalid('elements.title: 1 to 80 characters')
    if (element.subtitle !== undefined && !isTextUpTo(element.subtitle, 80)) {
      return invalid('elements.subtitle: 1 to 80 characters')
    }
    const error = element.buttons === undefined ? undefined : checkButtons(element.buttons)
    if (error) return error
  }
  return undefined
}

function checkButtons(buttons: unknown): Failure | undefined {
  if (!Array.isArray(buttons) || buttons.length > 3) return invalid('buttons: at most 3')
  for (const button of buttons.map(objectOf)) {
    const { type, title, url, payload } = button
    if (!isTextUpTo(title, 20)) return invalid('buttons.title: 1 to 20 characters')
    if (type === 'web_url' && isHttpUrl(url)) continue
    if (type === 'postback' && isTextUpTo(payload, 1000)) continue
    return invalid('buttons: web_url with a url, or postback with a payload')
  }
  return undefined
}

/** Replies that the customer can tap below a text. */
function checkQuickReplies(replies: unknown): Failure | undefined {
  if (!Array.isArray(replies) || replies.length === 0 || replies.length > 13) return invalid('quick_replies: 1 to 13')
  for (const { content_type: type, title, payload } of replies.map(objectOf)) {
    if (type !== 'text') return invalid('quick_replies.content_type: only text')
    if (!isTextUpTo(title, 20)) return invalid('quick_replies.title: 1 to 20 characters')
    if (!isTextUpTo(payload, 1000)) return invalid('quick_replies.payload: 1 to 1000 characters')
  }
  return undefined
}

/** A reaction of the account names a message of the conversation. `love` is the only one. */
function checkReaction(state: AccountState, body: Json, userId: string, now: number): Failure | undefined {
  const payload = objectOf(body.payload)
  if (!isText(payload.message_id) || payload.message_id === '') return invalid('payload.message_id: required')
  if (body.sender_action === 'react' && payload.reaction !== 'love') return invalid('payload.reaction: only love')
  if (!state.customers.has(userId)) return noSuchUser()
  return isWindowOpen(state, userId, now, 7) ? undefined : outsideWindow()
}

const actions = new Set<unknown>(['typing_on', 'typing_off', 'mark_seen', 'react', 'unreact'])

function acceptAction(state: AccountState, action: unknown, userId: string, response: ServerResponse) {
  if (!actions.has(action)) return sendFailure(response, invalid(`sender_action: one of ${[...actions].join(', ')}`))
  if (!state.customers.has(userId)) return sendFailure(response, noSuchUser())
  sendObject(response, { recipient_id: userId })
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
    profile_pic: world.media.publicLink(world.media.createSample('image')),
    follower_count: 42,
    is_user_follow_business: false,
    is_business_follow_user: false,
    is_verified_user: false,
  }
  const wanted = (fields ?? 'name,username').split(',').map((field) => field.trim())
  const chosen = Object.fromEntries(Object.entries(all).filter(([name]) => wanted.includes(name)))
  sendObject(response, { ...chosen, id: userId })
}
