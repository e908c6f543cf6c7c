/**
 * The primary channel: the provider's cloud API for numbers.
 *
 * Every send carries our message id, which comes back with every status report
 * of it: that is how a send without an answer is settled later. The answer to
 * a send means accepted, not delivered.
 */
import type { Http } from '../../lib/http.ts'
import type { Channel, Connection, Content, Outgoing, Person, Sent, Template } from '../channel.ts'
import { ask, errorOf, probe, refuse, settle } from '../graph.ts'
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

/** Nothing was sent: the account's, the number's or the pair's limit, or a number in maintenance. */
const throttleCodes = [4, 80007, 130429, 131056, 131057]

export function createMsgapp(http: Http): Channel {
  return {
    name: 'msgapp',
    windowMs: 24 * 60 * 60 * 1000,
    lateWindowMs: null,
    // A message that came without an id, and a call, are unknown to the provider as messages.
    quotableId: (id) => (id === null || isDerivedId(id) || id.startsWith('wacid.') ? null : id),
    send: (connection, outgoing) => send(http, connection, outgoing),
    answerHandshake,
    isSigned,
    parse,
    fetchMedia: (connection, media, maxBytes) => fetchMedia(http, connection, media, maxBytes),
    listTemplates: (connection) => listTemplates(http, connection),
    fillTemplate,
    previewTemplate,
    explainError,
    check: (connection) =>
      probe(http, connection, [
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

async function send(http: Http, connection: Connection, outgoing: Outgoing): Promise<Sent> {
  const { to, content, reply_to, message_id } = outgoing
  // With both the provider takes the number, and so do we.
  const recipient = to.phone ? { to: to.phone } : to.user_id ? { recipient: to.user_id } : undefined
  if (!recipient) return refuse('the recipient has neither a phone number nor a user id')
  const answer = await ask(http, connection, {
    method: 'POST',
    path: [connection.phone_number_id, 'messages'],
    body: {
      messaging_product: 'whatsapp',
      recipient_type: 'individual',
      ...recipient,
      type: content.type,
      [content.type]: wireOf(content),
      ...(reply_to === null ? {} : { context: { message_id: reply_to } }),
      biz_opaque_callback_data: message_id,
    },
    timeoutMs: 15_000,
  })
  return settle(answer, throttleCodes, (value) => {
    const { messages, contacts } = recordOf(value) ?? {}
    const external_id = idOf(recordsOf(messages)[0]?.id)
    return external_id ? { ok: true, external_id, person: calledOf(recordsOf(contacts)[0]) } : undefined
  })
}

function wireOf(content: Content): Json {
  switch (content.type) {
    case 'text':
      return { body: content.text, preview_url: false }
    case 'template': {
      const { name, language, components } = content
      return { name, language: { code: language }, ...(components.length > 0 ? { components } : {}) }
    }
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

/** What the provider calls the recipient: some countries' numbers are rewritten. */
function calledOf(contact: Json | undefined): Person | null {
  const person = { ...personOf(idOf(contact?.user_id) ?? null), phone: phoneOf(contact?.wa_id) }
  return person.phone === null && person.user_id === null ? null : person
}

const maxPages = 100

/** Pages are followed by their cursor alone: the address that comes with it could lead the token elsewhere. */
async function listTemplates(http: Http, connection: Connection): Promise<Template[] | undefined> {
  const templates: Template[] = []
  let after: string | undefined
  for (let page = 0; page < maxPages; page++) {
    const answer = await ask(http, connection, {
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
    templates.push(...recordsOf(data).flatMap(readTemplate))
    const next = recordOf(paging)?.next
    if (typeof next !== 'string') return templates
    after = URL.parse(next)?.searchParams.get('after') ?? idOf(recordOf(recordOf(paging)?.cursors)?.after)
    if (!after) return undefined
  }
  return undefined
}

/** One that has no name, language or status cannot be sent, so it is left out. */
function readTemplate(item: Json): Template[] {
  const external_id = typeof item.id === 'number' ? String(item.id) : idOf(item.id)
  const [name, language, status] = [idOf(item.name), idOf(item.language), idOf(item.status)]
  if (!external_id || !name || !language || !status) return []
  return [
    {
      external_id,
      name,
      language,
      status,
      category: textOf(item.category, 100) ?? '',
      parameter_format: textOf(item.parameter_format, 100) ?? 'POSITIONAL',
      components: storableJson(item.components ?? null),
      ...healthOf(item),
    },
  ]
}

/** What the provider thinks of a template. It leaves out what does not apply, or writes `NONE` or `UNKNOWN`. */
function healthOf(item: Json): Pick<Template, 'status_reason' | 'quality' | 'previous_category'> {
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
