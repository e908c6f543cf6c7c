/**
 * `POST /{phone_number_id}/messages`: checked, held to the limits, written
 * down, and only then accepted.
 */
import type { ServerResponse } from 'node:http'
import { type InFlight, type PlanName, planOf } from '../delivery/statuses.ts'
import type { AccountState } from '../state/accounts.ts'
import type { MediaStore } from '../state/media.ts'
import { isWindowOpen, takeAllowance, takePair } from '../state/rate-limits.ts'
import { type Failure, failure } from '../wire/errors.ts'
import { isObject, type Json, sendJson } from '../wire/http.ts'
import { createWamid, keyOf, userIdOf, waIdOf } from '../wire/ids.ts'
import { checkContent, checkEnvelope } from '../wire/message-checks.ts'
import type { Params } from '../wire/params.ts'
import { checkTemplate } from '../wire/template-checks.ts'
import { templateKey } from '../wire/templates.ts'
import { fullFailure, refuse, sendAccepted, sendFailure, type World } from '../world.ts'
import { isBlocked, isRegistered } from './objects.ts'

export function acceptMessage(world: World, state: AccountState, params: Params, response: ServerResponse) {
  const { values, raw: text = JSON.stringify(values) } = params
  const body = typeof values.to === 'number' ? { ...values, to: String(values.to) } : values
  const wrong = checkEnvelope(body)
  if (wrong) return sendFailure(response, wrong)
  if (body.status !== undefined) return acceptReading(body, response)

  const { account } = state
  if (!account) return sendFailure(response, failure(131000))
  const isByUserId = typeof body.to !== 'string'
  const to = String(body.to ?? body.recipient)
  const digits = isByUserId ? to : keyOf(to)
  const key = isByUserId ? to : waIdOf(digits)
  const fate = world.faults.fateOf(state, key)
  if (refuse(world, fate, response)) return

  if (!isRegistered(state)) return sendFailure(response, failure(133010), fate.delayMs)
  if (isBlocked(state, key)) return sendFailure(response, failure(130403), fate.delayMs)
  const now = Date.now()
  const isTemplate = body.type === 'template'
  const bad =
    (key === account.display_phone_number ? failure(131021) : undefined) ??
    (isTemplate
      ? checkTemplateSend(state, body.template, isByUserId, world.media)
      : checkContent(body, isMediaOf(state, world.media))) ??
    (takeAllowance(state, account.messages_per_second, now) ? undefined : failure(130429)) ??
    (takePair(state, key, now) ? undefined : failure(131056))
  if (bad) return sendFailure(response, bad, fate.delayMs)
  if (!world.journal.hasRoom()) return sendFailure(response, fullFailure(world))

  const isOpen = isWindowOpen(state, key, now)
  const plan = isTemplate || isOpen || fate.silent ? (mediaPlan(world, body) ?? planOf(fate, false)) : 'window_closed'
  const id = createWamid(isByUserId ? to.replace(/\D/g, '').slice(0, 15) : key, 'business')
  const shown = isByUserId ? to : `+${digits}`
  // One line a message: a body that was written over several is written anew.
  const raw = text.includes('\n') ? JSON.stringify(body) : text
  const line =
    `{"k":"m","p":"${plan}"${fate.twice ? ',"x":1' : ''},"r":"${key}","message_id":"${id}",` +
    `"workspace_id":"${state.workspace_id}","channel":"msgapp","to":"${shown}","at":"${new Date(now).toISOString()}","body":${raw}}`

  world.journal.append(line, (offset, length) => {
    const seq = world.sent.add(state.workspace_id, key, offset, length)
    const entry = world.phones.add(state.workspace_id, 'msgapp', shown, {
      id,
      from: 'business',
      offset,
      length,
      status: 'accepted',
    })
    const contact = isByUserId
      ? `{"input":"${to}","user_id":"${to}"}`
      : `{"input":${JSON.stringify(to)},"wa_id":"${key}"${body.recipient === undefined ? '' : `,"user_id":"${userIdOf(account.account_id, key)}"`}}`
    const status = isTemplate ? ',"message_status":"accepted"' : ''
    sendAccepted(
      response,
      `{"messaging_product":"whatsapp","contacts":[${contact}],"messages":[{"id":"${id}"${status}}]}`,
      fate,
    )
    world.phones.changed(entry)
    world.statuses.begin({
      ...messageInFlight(state, body, key, isOpen),
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

/** What a status report needs of the body, also when the journal is read back. */
export function messageInFlight(
  state: AccountState,
  body: Json,
  recipient: string,
  isOpen: boolean,
): Pick<InFlight, 'state' | 'recipient' | 'callback_data' | 'content'> {
  const { biz_opaque_callback_data: data, template } = body
  const category = isObject(template) ? (findTemplate(state, template)?.category.toLowerCase() ?? 'utility') : 'service'
  return {
    state,
    recipient,
    callback_data: typeof data === 'string' ? data : undefined,
    content: { category, isFree: category === 'service' || (category === 'utility' && isOpen) },
  }
}

export function findTemplate(state: AccountState, template: Json) {
  const language = isObject(template.language) ? template.language.code : undefined
  return state.templates.get(templateKey({ name: String(template.name), language: String(language) }))
}

function checkTemplateSend(
  state: AccountState,
  given: unknown,
  isByUserId: boolean,
  media: MediaStore,
): Failure | undefined {
  if (!isObject(given)) return failure(131008, 'Parameter template is required')
  if (typeof given.name !== 'string' || given.name === '') return failure(131008, "template['name'] is required")
  const language = isObject(given.language) ? given.language.code : undefined
  if (typeof language !== 'string' || language === '')
    return failure(131008, "template['language']['code'] is required")
  const template = findTemplate(state, given)
  if (template?.status === 'PAUSED') return failure(132015)
  if (template?.status === 'DISABLED') return failure(132016)
  if (template?.status !== 'APPROVED') {
    return failure(132001, `template name (${given.name}) does not exist in ${language}`)
  }
  if (isByUserId && template.category === 'AUTHENTICATION') return failure(131062)
  return checkTemplate(template, given.components, isMediaOf(state, media))
}

const isMediaOf =
  ({ workspace_id }: AccountState, media: MediaStore) =>
  (id: string) => {
    const owner = media.get(id)?.workspace_id
    return owner === null || owner === workspace_id
  }

const kinds: Record<string, RegExp> = {
  image: /^image\/(jpeg|png)\b/,
  video: /^video\//,
  audio: /^audio\//,
  sticker: /^image\/webp\b/,
}

/** A file of the wrong kind is found out only after the message was accepted. */
function mediaPlan({ media }: World, body: Json): PlanName | undefined {
  const kind = typeof body.type === 'string' ? kinds[body.type] : undefined
  if (!kind) return undefined
  const content = body[String(body.type)]
  const id = isObject(content) ? content.id : undefined
  const file = typeof id === 'string' ? media.get(id) : undefined
  return file && !kind.test(file.mime_type) ? 'bad_media' : undefined
}

/** The business read a message, or is typing: nothing is reported of it. */
function acceptReading(body: Json, response: ServerResponse) {
  if (body.status !== 'read') return sendFailure(response, failure(100, 'status: read'))
  const { message_id } = body
  if (message_id === undefined) return sendFailure(response, failure(131008, 'message_id is required'))
  if (typeof message_id !== 'string' || !message_id.startsWith('wamid.')) {
    return sendFailure(response, failure(131009, 'message_id: no such message'))
  }
  sendJson(response, 200, '{"success":true}')
}
