/** `POST /{phone_number_id}/messages`: validate, apply rate limits, write to the journal, then accept. */
import type { ServerResponse } from 'node:http'
import { type InFlightMessage, type PlanName, planOf } from '../delivery/statuses.ts'
import { type AccountState, findTemplate, userIdOfNumber } from '../state/accounts.ts'
import type { MediaStore } from '../state/media.ts'
import { isWindowOpen, takeAllowance, takePair } from '../state/rate-limits.ts'
import { type Failure, failure } from '../wire/errors.ts'
import { isObject, type Json, sendJson } from '../wire/http.ts'
import { createWamid, keyOf, waIdOf } from '../wire/ids.ts'
import { checkContent, checkEnvelope } from '../wire/message-checks.ts'
import type { Params } from '../wire/params.ts'
import { checkTemplate } from '../wire/template-checks.ts'
import type { World } from '../world.ts'
import { accept } from './accept.ts'
import { journalFullFailure, refuse, sendFailure } from './answers.ts'
import { isBlocked, isRegistered } from './objects.ts'

export function acceptMessage(world: World, state: AccountState, params: Params, response: ServerResponse) {
  const { values, raw: text = JSON.stringify(values) } = params
  const body = typeof values.to === 'number' ? { ...values, to: String(values.to) } : values
  const invalid = checkEnvelope(body)
  if (invalid) return sendFailure(response, invalid)
  if (body.status !== undefined) return acceptReadReceipt(body, response)

  const { account } = state
  if (!account) return sendFailure(response, failure(131000))
  const isByUserId = typeof body.to !== 'string'
  const to = String(body.to ?? body.recipient)
  const digits = isByUserId ? to : keyOf(to)
  const key = isByUserId ? to : waIdOf(digits)
  const effects = world.faults.effectsOn(state, key)
  if (refuse(world, effects, response)) return

  if (!isRegistered(state)) return sendFailure(response, failure(133010), effects.delayMs)
  if (isBlocked(state, key)) return sendFailure(response, failure(130403), effects.delayMs)
  const now = Date.now()
  const isTemplate = body.type === 'template'
  const refusal =
    (key === account.display_phone_number ? failure(131021) : undefined) ??
    (isByUserId && world.accounts.isForeignUserId(state, to) ? failure(131026, foreignUserId) : undefined) ??
    (isTemplate
      ? checkTemplateSend(state, body.template, isByUserId, world.media)
      : checkContent(body, isMediaOf(state, world.media))) ??
    (takeAllowance(state, account.messages_per_second, now) ? undefined : failure(130429)) ??
    (takePair(state, key, now) ? undefined : failure(131056))
  if (refusal) return sendFailure(response, refusal, effects.delayMs)
  if (!world.journal.hasCapacity()) return sendFailure(response, journalFullFailure(world))

  const isOpen = isWindowOpen(state, key, now)
  const plan =
    isTemplate || isOpen || effects.noStatuses ? (mediaPlan(world, body) ?? planOf(effects, false)) : 'window_closed'
  const id = createWamid(isByUserId ? to.replace(/\D/g, '').slice(0, 15) : key, 'business')
  const contact = isByUserId
    ? `{"input":"${to}","user_id":"${to}"}`
    : `{"input":${JSON.stringify(to)},"wa_id":"${key}"${body.recipient === undefined ? '' : `,"user_id":"${userIdOfNumber(state, key)}"`}}`
  const status = isTemplate ? ',"message_status":"accepted"' : ''
  accept(world, state, response, {
    id,
    recipient: key,
    to: isByUserId ? to : `+${digits}`,
    at: now,
    plan,
    effects,
    body,
    text,
    reportFields: messageReportFields(state, body, key, isOpen),
    answer: `{"messaging_product":"whatsapp","contacts":[${contact}],"messages":[{"id":"${id}"${status}}]}`,
  })
}

const foreignUserId = 'The user id belongs to another business.'

/** The fields of a message that its status reports need; replay reads them from the journal. */
export function messageReportFields(
  state: AccountState,
  body: Json,
  recipient: string,
  isOpen: boolean,
): Pick<InFlightMessage, 'state' | 'recipient' | 'callback_data' | 'content'> {
  const { biz_opaque_callback_data: data, template } = body
  const category = isObject(template) ? (findTemplate(state, template)?.category.toLowerCase() ?? 'utility') : 'service'
  return {
    state,
    recipient,
    callback_data: typeof data === 'string' ? data : undefined,
    content: { category, isFree: category === 'service' || (category === 'utility' && isOpen) },
  }
}

function checkTemplateSend(
  state: AccountState,
  input: unknown,
  isByUserId: boolean,
  media: MediaStore,
): Failure | undefined {
  if (!isObject(input)) return failure(131008, 'Parameter template is required')
  if (typeof input.name !== 'string' || input.name === '') return failure(131008, "template['name'] is required")
  const language = isObject(input.language) ? input.language.code : undefined
  if (typeof language !== 'string' || language === '')
    return failure(131008, "template['language']['code'] is required")
  const template = findTemplate(state, input)
  if (template?.status === 'PAUSED') return failure(132015)
  if (template?.status === 'DISABLED') return failure(132016)
  if (template?.status !== 'APPROVED') {
    return failure(132001, `template name (${input.name}) does not exist in ${language}`)
  }
  if (isByUserId && template.category === 'AUTHENTICATION') return failure(131062)
  return checkTemplate(template, input.components, isMediaOf(state, media))
}

const isMediaOf =
  ({ workspace_id }: AccountState, media: MediaStore) =>
  (id: string) => {
    const owner = media.get(id)?.workspace_id
    return owner === null || owner === workspace_id
  }

const fileTypes: Record<string, RegExp> = {
  image: /^image\/(jpeg|png)\b/,
  video: /^video\//,
  audio: /^audio\//,
  sticker: /^image\/webp\b/,
}

/** The provider accepts a message with a file of the wrong type, and reports the failure later. */
function mediaPlan({ media }: World, body: Json): PlanName | undefined {
  const pattern = typeof body.type === 'string' ? fileTypes[body.type] : undefined
  if (!pattern) return undefined
  const content = body[String(body.type)]
  const id = isObject(content) ? content.id : undefined
  const file = typeof id === 'string' ? media.get(id) : undefined
  return file && !pattern.test(file.mime_type) ? 'bad_media' : undefined
}

/** A read receipt or typing indicator of the business. It causes no callback. */
function acceptReadReceipt(body: Json, response: ServerResponse) {
  if (body.status !== 'read') return sendFailure(response, failure(100, 'status: read'))
  const { message_id } = body
  if (message_id === undefined) return sendFailure(response, failure(131008, 'message_id is required'))
  if (typeof message_id !== 'string' || !message_id.startsWith('wamid.')) {
    return sendFailure(response, failure(131009, 'message_id: no such message'))
  }
  sendJson(response, 200, '{"success":true}')
}
