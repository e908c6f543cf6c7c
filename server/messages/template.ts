/** Templates as messages: the approved one, and what goes over the wire and is kept of it. */
import type { Channel, Connection, Content, Filled, Template } from '../channels/channel.ts'
import { getTemplate, refreshTemplates } from '../channels/templates.ts'
import type { Sql } from '../lib/db.ts'
import { ApiError, badRequest } from '../lib/errors.ts'
import type { OutboundMessage } from './prepare.ts'

export type TemplateName = { name: string; language: string }
export type FilledTemplate = Extract<Filled, { ok: true }>
export type MessageContent = {
  content: Content
  row: Pick<OutboundMessage, 'content_type' | 'content_text' | 'content' | 'media_url' | 'template_name'>
}

/**
 * The template, approved. One that is not, or that `isUsable` finds fault with, may have been approved or changed since
 * we looked: the list is fetched anew, once, before anybody is told.
 */
export async function requireTemplate(
  sql: Sql,
  channel: Channel,
  connection: Connection,
  { name, language }: TemplateName,
  stored: Template | undefined,
  isUsable: (template: Template) => boolean,
): Promise<Template> {
  if (stored?.status === 'APPROVED' && isUsable(stored)) return stored
  await refreshTemplates(sql, channel, connection)
  const fresh = await getTemplate(sql, connection.workspace_id, name, language)
  if (!fresh) throw badRequest(`template.name: there is no template ${name} in ${language}`)
  if (fresh.status !== 'APPROVED') {
    throw badRequest(`template.name: ${name} in ${language} is not approved (${fresh.status.toLowerCase()})`)
  }
  return fresh
}

/** A template with values, or the refusal that says what is wrong with them or with it. */
export function requireFilled({ name, language }: TemplateName, filled: Filled | undefined): FilledTemplate {
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
