/** Checks whether a message may be sent: the window, the channel's limits, the quoted message, the recipient. */
import type { Channel, Interactive, Person } from '../channels/channel.ts'
import type { ChannelName } from '../contacts/contacts.ts'
import { identityOfPhone } from '../contacts/phone.ts'
import { windowOf } from '../conversations/window.ts'
import { nowMs } from '../lib/clock.ts'
import type { Sql } from '../lib/db.ts'
import { badRequest } from '../lib/errors.ts'
import { isUuid } from '../lib/id.ts'
import { lengthOf } from '../lib/text.ts'
import type { Draft, Quote } from './draft.ts'

/** Throws 400 when the window is closed. Returns whether only a member may still write (the late window). */
export function requireWindow(channel: Channel, lastInboundAt: string | null, byMember: boolean): boolean {
  const { windowMs, lateWindowMs } = channel
  if (windowMs === null) return false
  const hint = lateWindowMs === null ? '; use a template' : ''
  const { window_closes_at: closesAt, late_window_closes_at: lateClosesAt } = windowOf(channel, lastInboundAt)
  if (!closesAt) throw badRequest(`the customer has not written yet, so no free-form message can be sent${hint}`)
  const isOpen = (until: string) => nowMs() < Date.parse(until)
  if (isOpen(closesAt)) return false
  const isLonger = byMember && lateClosesAt !== null
  if (isLonger && isOpen(lateClosesAt)) return true
  const [closedAt, ms] = isLonger ? [lateClosesAt, lateWindowMs ?? windowMs] : [closesAt, windowMs]
  throw badRequest(`the ${ms / 3_600_000}-hour window closed at ${closedAt}${hint}`)
}

/** Throws 400 for content that the channel does not support. */
export function requireSendable(channel: ChannelName, draft: Draft): void {
  if (channel === 'msgapp') return
  if (draft.type === 'template') throw badRequest('type: only the msgapp channel has templates')
  if (draft.type === 'reaction') {
    if (channel === 'web') throw badRequest('type: the web channel has no reactions')
    const isHeart = draft.emoji === '' || draft.emoji.replace('\ufe0f', '') === '\u2764'
    if (!isHeart) throw badRequest('reaction.emoji: the social channel supports only ❤️')
    return
  }
  if (channel === 'social') requireSocial(draft)
}

const maxSocialBytes = 1_000
const maxSocialLinkText = 640

function requireSocial(draft: Exclude<Draft, { type: 'template' | 'reaction' }>): void {
  if (draft.type === 'location') throw badRequest('type: the social channel has no locations')
  if (draft.type === 'text') requireBytes(draft.text, 'text')
  else if (draft.type === 'interactive') requireSocialChoices(draft.interactive)
  else if (draft.text) throw badRequest('text: the social channel has no captions')
}

function requireSocialChoices(interactive: Interactive): void {
  if (interactive.kind === 'list') throw badRequest('interactive.kind: the social channel has no lists')
  if (interactive.kind === 'link') {
    if (lengthOf(interactive.body) <= maxSocialLinkText) return
    throw badRequest(`interactive.body: the social channel accepts at most ${maxSocialLinkText} characters with a link`)
  }
  if (interactive.header !== undefined) throw badRequest('interactive.header: the social channel has no headers')
  if (interactive.footer !== undefined) throw badRequest('interactive.footer: the social channel has no footers')
  requireBytes(interactive.body, 'interactive.body')
}

function requireBytes(text: string, field: string): void {
  if (Buffer.byteLength(text) <= maxSocialBytes) return
  throw badRequest(`${field}: the social channel accepts at most ${maxSocialBytes} bytes`)
}

/** The channel's id of the message to quote. 400 when it is not in the conversation or the channel has no id for it. */
export async function requireQuoted(
  sql: Sql,
  workspaceId: string,
  channel: Channel,
  conversationId: string | null | undefined,
  quote: Quote | undefined,
): Promise<string | null> {
  if (quote === undefined) return null
  const { id, field } = quote
  const [message] =
    conversationId && isUuid(id)
      ? await sql<{ external_id: string | null; is_sent: boolean }[]>`
          select external_id, status not in ('pending', 'failed') as is_sent from messages
          where workspace_id = ${workspaceId} and conversation_id = ${conversationId} and id = ${id}`
      : []
  if (!message) throw badRequest(`${field}: not a message of this conversation`)
  const { external_id, is_sent } = message
  const quoted = channel.quotableId ? channel.quotableId(external_id, is_sent ? id : null) : external_id
  if (quoted === null) throw badRequest(`${field}: the channel has no id for this message, so it cannot be quoted`)
  return quoted
}

/**
 * The contact of a conversation as the channel identifies them. 400 when the channel does not know them. A merged contact has
 * several numbers or user ids: the one that the customer last wrote from, or else the contact's number.
 */
export async function requireReachable(
  sql: Sql,
  workspaceId: string,
  channel: ChannelName,
  contact: { id: string; phone: string | null },
): Promise<Person> {
  const identities = await sql<{ external_id: string; is_last: boolean }[]>`
    select i.external_id, coalesce(i.external_id = v.last_inbound_identity, false) as is_last
    from contact_identities i
    left join conversations v
      on v.workspace_id = i.workspace_id and v.contact_id = i.contact_id and v.channel = i.channel
    where i.workspace_id = ${workspaceId} and i.contact_id = ${contact.id} and i.channel = ${channel}
    order by i.external_id`
  const isNumber = ({ external_id }: { external_id: string }) => external_id.startsWith('+')
  const numbers = identities.filter(isNumber)
  const userIds = identities.filter((identity) => !isNumber(identity))
  const last = identities.find(({ is_last }) => is_last)
  const phone = channel === 'msgapp' ? contact.phone : null
  if (last && (isNumber(last) ? numbers : userIds).length > 1) {
    const isOwn = phone !== null && identityOfPhone(phone) === last.external_id
    const number = isOwn ? phone : last.external_id
    return { phone: isNumber(last) ? number : null, user_id: isNumber(last) ? null : last.external_id, ...unnamed }
  }
  const userId = userIds[0]?.external_id ?? null
  const number = phone ?? numbers[0]?.external_id ?? null
  if (!number && !userId) throw badRequest(`the contact cannot be reached on ${channel}`)
  return { phone: number, user_id: userId, ...unnamed }
}

const unnamed = { name: null, username: null }
