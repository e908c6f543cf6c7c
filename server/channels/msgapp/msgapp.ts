/**
 * The adapter of the primary channel: the provider's cloud API for phone numbers.
 *
 * Every send carries our message id, and every status report returns it. So a report can settle a send whose answer was
 * lost. The answer to a send means accepted, not delivered.
 */
import type { Http } from '../../lib/http/client.ts'
import type {
  BlockAnswer,
  Channel,
  Connection,
  Content,
  Interactive,
  OutgoingMessage,
  Person,
  SendAnswer,
  Template,
} from '../channel.ts'
import { callProvider, checkReads, errorOf, fetchField, refuse, toBlockAnswer, toSendAnswer } from '../graph.ts'
import { fetchMedia } from '../media.ts'
import {
  idOf,
  isDerivedId,
  type Json,
  personOf,
  phoneOf,
  recordOf,
  recordsOf,
  storableJson,
  textOf,
} from '../reading.ts'
import { answerHandshake, isSigned } from '../signature.ts'
import { explainError } from './errors.ts'
import { parse } from './parse.ts'
import { fillTemplate, previewTemplate } from './template.ts'

/** Temporary refusals; nothing was sent. Limits of the account, the number or the recipient, or a number in maintenance. */
const throttleCodes = [4, 80007, 130429, 131056, 131057]

export function createMsgapp(http: Http, sendMs: number): Channel {
  return {
    name: 'msgapp',
    windowMs: 24 * 60 * 60 * 1000,
    lateWindowMs: null,
    // The provider cannot quote a call or a message that arrived without an id.
    quotableId: (id) => (id === null || isDerivedId(id) || id.startsWith('wacid.') ? null : id),
    send: (connection, outgoing) => send(http, connection, outgoing, sendMs),
    answerHandshake,
    isSigned,
    parse,
    fetchMedia: (connection, media, maxBytes) => fetchMedia(http, connection, media, maxBytes),
    listTemplates: (connection) => listTemplates(http, connection),
    fillTemplate,
    // The provider sends one-time codes to numbers only.
    needsPhone: ({ category }) => category === 'AUTHENTICATION',
    previewTemplate,
    explainError,
    setBlocked: (connection, person, isBlocked) => setBlocked(http, connection, person, isBlocked, sendMs),
    fetchAddress: async (connection) => {
      const shown = await fetchField(http, connection, connection.phone_number_id, 'display_phone_number')
      return phoneOf(shown?.replaceAll(/[^\d+]/g, '')) ?? undefined
    },
    check: (connection) =>
      checkReads(http, connection, [
        {
          step: 'Read the phone number',
          field: 'phone_number_id',
          path: [connection.phone_number_id],
          query: { fields: 'verified_name,display_phone_number' },
        },
        {
          step: 'Read the templates of the account',
          field: 'account_id',
          path: [connection.account_id, 'message_templates'],
          query: { limit: '1', fields: 'name' },
        },
      ]),
  }
}

async function send(
  http: Http,
  connection: Connection,
  outgoing: OutgoingMessage,
  timeoutMs: number,
): Promise<SendAnswer> {
  const { to, content, reply_to, message_id } = outgoing
  // With both, the provider uses the number.
  const recipient = to.phone ? { to: to.phone } : to.user_id ? { recipient: to.user_id } : undefined
  if (!recipient) return refuse('the recipient has neither a phone number nor a user id')
  const answer = await callProvider(http, connection, {
    method: 'POST',
    path: [connection.phone_number_id, 'messages'],
    body: {
      messaging_product: 'whatsapp',
      recipient_type: 'individual',
      ...recipient,
      type: content.type,
      [content.type]: toWire(content, reply_to),
      // A reaction names its message itself.
      ...(reply_to === null || content.type === 'reaction' ? {} : { context: { message_id: reply_to } }),
      biz_opaque_callback_data: message_id,
    },
    timeoutMs,
  })
  return toSendAnswer(answer, throttleCodes, (value) => {
    const { messages, contacts } = recordOf(value) ?? {}
    const external_id = idOf(recordsOf(messages)[0]?.id)
    return external_id ? { ok: true, external_id, person: readRecipient(recordsOf(contacts)[0]) } : undefined
  })
}

/** The provider blocks only people who wrote within the last 24 hours. */
async function setBlocked(
  http: Http,
  connection: Connection,
  { phone, user_id }: Person,
  isBlocked: boolean,
  timeoutMs: number,
): Promise<BlockAnswer> {
  const answer = await callProvider(http, connection, {
    method: isBlocked ? 'POST' : 'DELETE',
    path: [connection.phone_number_id, 'block_users'],
    body: { messaging_product: 'whatsapp', block_users: [phone ? { user: phone } : { user_id }] },
    timeoutMs,
  })
  const { block_users } = recordOf(answer.ok ? answer.value : undefined) ?? {}
  const { added_users, removed_users, failed_users } = recordOf(block_users) ?? {}
  if (recordsOf(isBlocked ? added_users : removed_users).length > 0) return { ok: true }
  const [failed] = recordsOf(recordsOf(failed_users)[0]?.errors)
  if (failed) return { ok: false, isRefused: true, message: textOf(failed.message, 500) ?? 'refused' }
  const outcome = toBlockAnswer(answer)
  return outcome.ok ? { ok: false, isRefused: false, message: 'the channel did not confirm it' } : outcome
}

function toWire(content: Content, replyTo: string | null): Json {
  switch (content.type) {
    case 'reaction':
      return { message_id: replyTo, emoji: content.emoji }
    case 'text':
      return { body: content.text, preview_url: false }
    case 'template': {
      const { name, language, components } = content
      return { name, language: { code: language }, ...(components.length > 0 ? { components } : {}) }
    }
    case 'interactive':
      return toInteractive(content.interactive)
    case 'location':
      return { ...content.location }
    case 'audio':
      return { link: content.media_url }
    default: {
      const { type, media_url, text, filename } = content
      return {
        link: media_url,
        ...(type === 'document' && filename ? { filename } : {}),
        ...(text ? { caption: text } : {}),
      }
    }
  }
}

function toInteractive(interactive: Interactive): Json {
  const body = { text: interactive.body }
  switch (interactive.kind) {
    case 'buttons': {
      const { header, footer, buttons } = interactive
      return {
        type: 'button',
        ...(header === undefined ? {} : { header: { type: 'text', text: header } }),
        body,
        ...(footer === undefined ? {} : { footer: { text: footer } }),
        action: { buttons: buttons.map(({ id, title }) => ({ type: 'reply', reply: { id, title } })) },
      }
    }
    case 'list': {
      const { button, sections } = interactive
      return { type: 'list', body, action: { button, sections } }
    }
    case 'link': {
      const parameters = { display_text: interactive.text, url: interactive.url }
      return { type: 'cta_url', body, action: { name: 'cta_url', parameters } }
    }
  }
}

/** The recipient's number and user id at the provider, which rewrites the numbers of some countries. */
function readRecipient(contact: Json | undefined): Person | null {
  const person = { ...personOf(idOf(contact?.user_id) ?? null), phone: phoneOf(contact?.wa_id) }
  return person.phone === null && person.user_id === null ? null : person
}

const maxPages = 100
/** Of the components, as JSON. A carousel of ten cards with examples has about 20,000. */
const maxTemplateLength = 64 * 1024
/** Of all components, as JSON. The list is held in memory and written by one statement. */
const maxTemplatesLength = 16 * 1024 * 1024
const maxTemplates = 10_000

/** Undefined if a page cannot be read, or if the list is too long. Follows pages by their cursor only: a URL from the response could send the token to another host. */
async function listTemplates(http: Http, connection: Connection): Promise<Template[] | undefined> {
  const templates: Template[] = []
  let length = 0
  let after: string | undefined
  for (let page = 0; page < maxPages; page++) {
    const answer = await callProvider(http, connection, {
      method: 'GET',
      path: [connection.account_id, 'message_templates'],
      query: {
        limit: '100',
        fields:
          'id,name,language,status,category,parameter_format,components,quality_score,rejected_reason,previous_category',
        ...(after === undefined ? {} : { after }),
      },
      timeoutMs: 15_000,
      maxBytes: 16 * 1024 * 1024,
    })
    if (!answer.ok || errorOf(answer)) return undefined
    const { data, paging } = recordOf(answer.value) ?? {}
    if (!Array.isArray(data)) return undefined
    for (const item of recordsOf(data)) {
      const read = readTemplate(item)
      if (!read) continue
      length += read.length
      if (length > maxTemplatesLength || templates.push(read.template) > maxTemplates) return undefined
    }
    const next = recordOf(paging)?.next
    if (typeof next !== 'string') return templates
    after = URL.parse(next)?.searchParams.get('after') ?? idOf(recordOf(recordOf(paging)?.cursors)?.after)
    if (!after) return undefined
  }
  return undefined
}

/** A template without a name, language or status cannot be sent, so it is skipped, and so is one that is too long. */
function readTemplate(item: Json): { template: Template; length: number } | undefined {
  const external_id = typeof item.id === 'number' ? String(item.id) : idOf(item.id)
  const [name, language, status] = [idOf(item.name), idOf(item.language), idOf(item.status)]
  const components = storableJson(item.components ?? null)
  const { length } = JSON.stringify(components)
  if (!external_id || !name || !language || !status || length > maxTemplateLength) return undefined
  const template = {
    external_id,
    name,
    language,
    status,
    category: textOf(item.category, 100) ?? '',
    parameter_format: textOf(item.parameter_format, 100) ?? 'POSITIONAL',
    components,
    ...readTemplateHealth(item),
  }
  return { template, length }
}

/** The provider's rating of a template. A field that does not apply is absent, `NONE` or `UNKNOWN`. */
function readTemplateHealth(item: Json): Pick<Template, 'status_reason' | 'quality' | 'previous_category'> {
  const word = (value: unknown) => (value === 'NONE' || value === 'UNKNOWN' ? null : textOf(value, 100))
  const status_reason = word(item.rejected_reason)
  const quality = word(recordOf(item.quality_score)?.score)
  const previous_category = word(item.previous_category)
  return {
    ...(status_reason === null ? {} : { status_reason }),
    ...(quality === null ? {} : { quality }),
    ...(previous_category === null ? {} : { previous_category }),
  }
}
