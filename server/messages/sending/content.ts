/** The content of a message: what the channel receives and what the message's row stores. */
import { requireQuota } from '../../accounts/quota.ts'
import type { Connection, Template } from '../../channels/channel.ts'
import type { Sql } from '../../lib/postgres/db.ts'
import { markUploadsUsed, tokensIn } from '../../media/uploads.ts'
import type { RequestedContent } from './requested-content.ts'
import type { Target } from './target.ts'
import {
  fillContactFields,
  type MessageContent,
  requireFilled,
  requireTemplate,
  toTemplateContent,
} from './template.ts'

/** The content of a request. A template is filled. 400 for a wrong value, 502 when the template could not be checked. */
export async function readContent(
  sql: Sql,
  target: Target,
  connection: Connection,
  requested: RequestedContent,
): Promise<MessageContent> {
  if (requested.type !== 'template') return toContent(requested)
  const { channel } = target
  const params = requested.contact_fields ? await fillContactFields(sql, target, requested.params) : requested.params
  const fill = (template: Template) => channel.fillTemplate?.(template, params)
  const isUsable = (template: Template) => fill(template)?.ok === true
  const template = await requireTemplate(sql, channel, connection, requested, isUsable, target.template)
  return toTemplateContent(requested, requireFilled(requested, fill(template)))
}

type Row = MessageContent['row']
const rowOf = (content_type: RequestedContent['type'], content_text: string | null, more: Partial<Row> = {}): Row => ({
  ...{ content_type, content_text, content: null, media_url: null, template_name: null },
  ...more,
})

/** The text is the line that lists show. Structured content is stored in the shape of the request. */
function toContent(requested: Exclude<RequestedContent, { type: 'template' }>): MessageContent {
  const { type } = requested
  if (type === 'text') return { content: requested, row: rowOf(type, requested.text) }
  if (type === 'reaction') {
    const { emoji } = requested
    return { content: { type, emoji }, row: rowOf(type, emoji || null) }
  }
  if (type === 'interactive') {
    const { interactive } = requested
    return { content: requested, row: rowOf(type, interactive.body, { content: { interactive } }) }
  }
  if (type === 'location') {
    const { location } = requested
    const words = [location.name, location.address].filter((part) => part !== undefined).join(', ')
    const text = words || `${location.latitude}, ${location.longitude}`
    return { content: requested, row: rowOf(type, text, { content: { location } }) }
  }
  const { text, media_url, filename } = requested
  return { content: requested, row: rowOf(type, text, { content: filename ? { filename } : null, media_url }) }
}

/**
 * Marks the uploaded files that a message links to as used, so that they are not deleted, and stores their path instead of
 * their URL. The last step before the message is prepared, with the quota checked: the file of a refused message is
 * deleted after a day.
 */
export async function linkUploads(
  sql: Sql,
  workspaceId: string,
  message: MessageContent,
  publicUrl: string,
): Promise<MessageContent> {
  const tokens = tokensIn(JSON.stringify(message.content), publicUrl)
  if (tokens.length === 0) return message
  await requireQuota(sql, workspaceId)
  const uploads = await markUploadsUsed(sql, workspaceId, tokens)
  const { media_url } = message.row
  const file = media_url && uploads.find(({ token }) => tokensIn(media_url, publicUrl).includes(token))
  return file ? { ...message, row: { ...message.row, media_url: file.path } } : message
}
