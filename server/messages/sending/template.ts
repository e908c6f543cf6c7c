/** Template messages: requires an approved template, fills in its values, and returns the content to send and store. */
import type { Channel, Connection, Content, FillResult, Template, TemplateParams } from '../../channels/channel.ts'
import { getTemplate, refreshTemplates } from '../../channels/templates.ts'
import { ApiError, badRequest } from '../../lib/errors.ts'
import type { Sql } from '../../lib/postgres/db.ts'
import { platformError } from './platform-error.ts'
import type { OutboundMessage } from './prepare.ts'
import type { Target } from './target.ts'
import { expandValues, findValueFault, hasFields, tooLongReason, type ValuedContact } from './values.ts'

export type TemplateName = { name: string; language: string }
export type FilledTemplate = Extract<FillResult, { ok: true }>
export type MessageContent = {
  content: Content
  row: Pick<OutboundMessage, 'content_type' | 'content_text' | 'content' | 'media_url' | 'template_name'>
}

/**
 * Replaces contact fields in the values of a template, such as `{{contact.name|there}}`. 400 for an unknown field, for an
 * empty field without a fallback, and for a value that is too long with its fields.
 */
export async function fillContactFields(
  sql: Sql,
  { workspaceId, contactId, who, newName }: Target,
  params: TemplateParams,
): Promise<TemplateParams> {
  if (!hasFields(params)) return params
  const fault = findValueFault(params, 'template.params')
  if (fault) throw badRequest(fault)
  const [stored] = contactId
    ? await sql<ValuedContact[]>`
        select name, phone, email, company, attributes from contacts
        where workspace_id = ${workspaceId} and id = ${contactId}`
    : []
  const { name = null, phone = null, email = null, company = null, attributes } = stored ?? {}
  const contact = { email, company, attributes, name: newName ?? name, phone: phone ?? who?.phone ?? null }
  const expanded = expandValues(params, contact)
  if (expanded.ok) return expanded.params
  const { missing } = expanded
  if (!missing) throw badRequest(`template.params: ${tooLongReason}`)
  throw badRequest(`template.params: the contact has no ${missing}; add a fallback, as in {{contact.${missing}|there}}`)
}

/**
 * Returns the approved template, or throws 400. A stored template that is not approved or not usable may have changed at
 * the provider, so the list is fetched again once before the caller gets an error. 502 if it cannot be fetched: the request
 * may be right. `known`: the stored template, if the caller has read it.
 */
export async function requireTemplate(
  sql: Sql,
  channel: Channel,
  connection: Connection,
  { name, language }: TemplateName,
  isUsable: (template: Template) => boolean = () => true,
  known?: Template,
): Promise<Template> {
  const read = () => getTemplate(sql, connection.workspace_id, name, language, connection.scope)
  const stored = known ?? (await read())
  if (stored?.status === 'APPROVED' && isUsable(stored)) return stored
  if (!(await refreshTemplates(sql, channel, connection))) {
    const reason = `the template ${name} in ${language} could not be checked: the channel did not return its templates`
    throw platformError(`${reason}, so nothing was sent`, { id: null, outcome: 'unsent' })
  }
  const fresh = await read()
  if (!fresh) throw badRequest(`template.name: there is no template ${name} in ${language}`)
  if (fresh.status !== 'APPROVED') {
    throw badRequest(`template.name: ${name} in ${language} is not approved (${fresh.status.toLowerCase()})`)
  }
  return fresh
}

/** Returns the filled template. 400 for a wrong value, `template_malformed` for a broken template. */
export function requireFilled({ name, language }: TemplateName, filled: FillResult | undefined): FilledTemplate {
  if (!filled) throw badRequest('type: this channel has no templates')
  if (filled.ok) return filled
  if (filled.fault === 'params') throw badRequest(filled.message)
  throw new ApiError('template_malformed', `the template ${name} in ${language} cannot be sent: ${filled.message}`)
}

export function toTemplateContent({ name, language }: TemplateName, filled: FilledTemplate): MessageContent {
  return {
    content: { type: 'template', name, language, components: filled.components },
    row: {
      content_type: 'template',
      content_text: filled.text,
      content: filled.content,
      media_url: null,
      template_name: name,
    },
  }
}
