/** The content of a message: what the channel receives and what the message's row stores. */
import { requireQuota } from '../accounts/quota.ts'
import type { Channel, Connection, Template } from '../channels/channel.ts'
import type { Sql } from '../lib/db.ts'
import { markUploadsUsed, tokensIn } from '../media/uploads.ts'
import type { Draft } from './draft.ts'
import { type MessageContent, requireFilled, requireTemplate, toTemplateContent } from './template.ts'

/** The content of a draft. `stored` is the template that a template draft names, as far as we know it. */
export async function readContent(
  sql: Sql,
  channel: Channel,
  connection: Connection,
  draft: Draft,
  stored: Template | undefined,
): Promise<MessageContent> {
  if (draft.type === 'text') {
    const row = { content_type: 'text', content_text: draft.text, content: null, media_url: null, template_name: null }
    return { content: draft, row }
  }
  if (draft.type === 'reaction') {
    const { emoji } = draft
    const row = { content_type: 'reaction', content_text: emoji || null, content: null, media_url: null }
    return { content: { type: 'reaction', emoji }, row: { ...row, template_name: null } }
  }
  if (draft.type === 'interactive' || draft.type === 'location') {
    const { text, content } = describeStructured(draft)
    const row = { content_type: draft.type, content_text: text, content, media_url: null, template_name: null }
    return { content: draft, row }
  }
  if (draft.type !== 'template') {
    const { type, text, media_url, filename } = draft
    const content = filename ? { filename } : null
    return { content: draft, row: { content_type: type, content_text: text, content, media_url, template_name: null } }
  }
  const fill = (template: Template) => channel.fillTemplate?.(template, draft.params)
  const template = await requireTemplate(sql, channel, connection, draft, stored, (one) => fill(one)?.ok === true)
  return toTemplateContent(draft, requireFilled(draft, fill(template)))
}

/** The line that lists show, and the content as the message's row has it: in the shape of the request. */
function describeStructured(draft: Extract<Draft, { type: 'interactive' | 'location' }>) {
  if (draft.type === 'interactive') {
    const { interactive } = draft
    return { text: interactive.body, content: { interactive } }
  }
  const { location } = draft
  const words = [location.name, location.address].filter((part) => part !== undefined)
  return { text: words.join(', ') || `${location.latitude}, ${location.longitude}`, content: { location } }
}

/**
 * Marks the uploaded files that a draft links to as used, so that they are not deleted, and stores their path instead of
 * their URL. The last step before the message is prepared, with the quota checked: the file of a refused message is
 * deleted after a day.
 */
export async function linkUploads(
  sql: Sql,
  workspaceId: string,
  draft: Draft,
  message: MessageContent,
  publicUrl: string,
): Promise<MessageContent> {
  const tokens = tokensIn(JSON.stringify(draft), publicUrl)
  if (tokens.length === 0) return message
  await requireQuota(sql, workspaceId)
  const uploads = await markUploadsUsed(sql, workspaceId, tokens)
  const { media_url } = message.row
  const file = media_url && uploads.find(({ token }) => tokensIn(media_url, publicUrl).includes(token))
  return file ? { ...message, row: { ...message.row, media_url: file.path } } : message
}
