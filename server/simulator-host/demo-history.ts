/** The messages that the demo workspace was created with, as the phones of its customers show them. The simulator never had them. */
import type { Bubble, PastPhone, RenderedTemplate } from '../../simulator/simulator.ts'
import type { ShownTemplate } from '../channels/channel.ts'
import type { Sql } from '../lib/postgres/db.ts'

type PastMessage = Pick<PastPhone, 'workspace_id' | 'channel' | 'name' | 'username'> & {
  connection_id: string
  phone: string
  id: string
  at: string
  direction: 'inbound' | 'outbound'
  type: string
  text: string | null
  content: ({ location?: NonNullable<Bubble['location']> } & Partial<ShownTemplate>) | null
  media_url: string | null
  template_name: string | null
  status: Bubble['status']
  reply_to: string | null
}

/**
 * The phones, the one used last at the end. Ids carry times and the workspace is newer than its history, so the history is found
 * by a range of ids, however much the demo has been used. Messages that the channel refused never reached a phone.
 */
export async function listDemoHistory(sql: Sql): Promise<PastPhone[]> {
  const messages = await sql<PastMessage[]>`
    select w.id as workspace_id, v.channel, k.id as connection_id, i.external_id as phone, c.name,
      case when v.channel = 'social' then c.social_username end as username, m.external_id as id,
      m.created_at as at, m.direction, m.content_type as type, m.content_text as text, m.content, m.media_url,
      m.template_name, m.status, r.external_id as reply_to
    from workspaces w
    join channel_connections k on k.workspace_id = w.id and k.simulator = 'built_in' and k.channel_name in ('msgapp', 'social')
    join conversations v on v.workspace_id = w.id and v.id < w.id and v.connection_id = k.id
    join messages m on m.workspace_id = w.id and m.conversation_id = v.id and m.id < w.id
    left join messages r on r.workspace_id = w.id and r.conversation_id = v.id and r.id = m.reply_to_message_id
    join contacts c on c.workspace_id = w.id and c.id = v.contact_id
    join contact_identities i on i.workspace_id = w.id and i.channel = v.channel and i.contact_id = c.id
    where w.is_demo and m.external_id is not null
    order by m.id`
  const phones = new Map<string, PastPhone & { bubbles: Bubble[] }>()
  for (const message of messages) {
    const { workspace_id, channel, connection_id, phone: id, name, username } = message
    const key = `${connection_id} ${id}`
    const phone = phones.get(key) ?? { workspace_id, channel, connection_id, id, name, username, bubbles: [] }
    // Again at the end: its message is the newest so far.
    phones.delete(key)
    phones.set(key, phone)
    phone.bubbles.push(toBubble(message))
  }
  return [...phones.values()]
}

function toBubble({
  id,
  at,
  direction,
  type,
  text,
  content,
  media_url,
  template_name,
  status,
  reply_to,
}: PastMessage): Bubble {
  const isInbound = direction === 'inbound'
  const isReaction = type === 'reaction'
  const isTemplate = type === 'template'
  return {
    id,
    from: isInbound ? 'customer' : 'business',
    at,
    type,
    text: isReaction || isTemplate || type === 'location' ? null : text,
    status: isInbound ? 'delivered' : status,
    error: null,
    media: media_url === null ? null : { url: media_url, mime_type: null, filename: null },
    template: isTemplate ? toTemplate(template_name ?? '', text, content ?? {}) : null,
    reply_to: isReaction ? null : reply_to,
    ...(content?.location ? { location: content.location } : {}),
    ...(isReaction ? { reaction: { message_id: reply_to ?? '', emoji: text ?? '' } } : {}),
  }
}

function toTemplate(
  name: string,
  text: string | null,
  { header, footer, buttons }: Partial<ShownTemplate>,
): RenderedTemplate {
  const shown = header && { text: header.text, url: header.url, filename: header.filename }
  return {
    name,
    header: header && shown ? { type: header.format.toLowerCase() as HeaderType, ...defined(shown) } : null,
    body: text ?? '',
    footer: footer ?? null,
    buttons: (buttons ?? []).map((button, index) => ({ type: 'URL', ...button, index, text: button.text ?? '' })),
    cards: null,
  }
}

type HeaderType = NonNullable<RenderedTemplate['header']>['type']

const defined = <Fields extends Record<string, string | undefined>>(fields: Fields) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [Name in keyof Fields]?: string
  }
