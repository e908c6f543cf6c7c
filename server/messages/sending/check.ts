/** The third step of a send, after target and repeat: whether the message may be sent. The rules of the channel, the window, the quoted message. */
import type { Channel, Connection, Interactive, Person } from '../../channels/channel.ts'
import { notConnected } from '../../channels/connections.ts'
import type { ChannelName } from '../../contacts/resource.ts'
import { windowOf } from '../../conversations/window.ts'
import { nowMs } from '../../lib/clock.ts'
import { badRequest } from '../../lib/errors.ts'
import { isUuid } from '../../lib/id.ts'
import type { Sql } from '../../lib/postgres/db.ts'
import { lengthOf } from '../../lib/text.ts'
import { type Quote, type RequestedContent, readQuote } from './requested-content.ts'
import type { Target } from './target.ts'

/** What the next steps need and a target may lack. */
export type CheckedTarget = {
  connection: Connection
  person: Person
  /** Our id and the channel's id of the quoted message. */
  quotedId: string | null
  quoted: string | null
  /** Whether only a member may still write. */
  isLate: boolean
}

/** Throws 400 with the reason when the message may not be sent. `isLater`: the window is checked when it is sent. */
export async function checkTarget(
  sql: Sql,
  target: Target,
  {
    requested,
    replyTo,
    memberId,
  }: { requested: RequestedContent; replyTo?: string | undefined; memberId?: string | undefined },
  isLater = false,
): Promise<CheckedTarget> {
  const { channel, connection, person } = target
  if (!connection) throw notConnected(channel.name)
  requireSendable(channel.name, requested)
  const quote = readQuote(requested, replyTo)
  const quoted = quote ? await requireQuoted(sql, target, quote) : null
  const hasWindow = requested.type !== 'template' && !isLater
  const isLate = hasWindow && requireWindow(channel, target.windowFrom, memberId !== undefined)
  if (!person) throw badRequest(`the contact cannot be reached on ${channel.name}`)
  if (person.phone === null && target.template && channel.needsPhone?.(target.template)) {
    throw badRequest('template: needs a phone number, which the contact does not have')
  }
  return { connection, person, quotedId: quote?.id ?? null, quoted, isLate }
}

/** Throws 400 when the window is closed. Returns whether only a member may still write (the late window). */
export function requireWindow(
  channel: Pick<Channel, 'windowMs' | 'lateWindowMs'>,
  lastInboundAt: string | null,
  byMember: boolean,
  atMs = nowMs(),
): boolean {
  const { windowMs, lateWindowMs } = channel
  if (windowMs === null) return false
  const hint = lateWindowMs === null ? '; use a template' : ''
  const { window_closes_at: closesAt, late_window_closes_at: lateClosesAt } = windowOf(channel, lastInboundAt)
  if (!closesAt) throw badRequest(`the customer has not written yet, so no free-form message can be sent${hint}`)
  const isOpen = (until: string) => atMs < Date.parse(until)
  if (isOpen(closesAt)) return false
  const isLonger = byMember && lateClosesAt !== null
  if (isLonger && isOpen(lateClosesAt)) return true
  const [closedAt, ms] = isLonger ? [lateClosesAt, lateWindowMs ?? windowMs] : [closesAt, windowMs]
  throw badRequest(`the ${ms / 3_600_000}-hour window closed at ${closedAt}${hint}`)
}

/** Throws 400 for content that the channel does not support. */
export function requireSendable(channel: ChannelName, requested: RequestedContent): void {
  if (channel === 'msgapp') return
  if (requested.type === 'template') throw badRequest('type: only the msgapp channel has templates')
  if (requested.type === 'reaction') {
    if (channel === 'web') throw badRequest('type: the web channel has no reactions')
    const isHeart = requested.emoji === '' || requested.emoji.replace('\ufe0f', '') === '\u2764'
    if (!isHeart) throw badRequest('reaction.emoji: the social channel supports only ❤️')
    return
  }
  if (channel === 'social') requireSocial(requested)
}

const maxSocialBytes = 1_000
const maxSocialLinkText = 640

function requireSocial(requested: Exclude<RequestedContent, { type: 'template' | 'reaction' }>): void {
  if (requested.type === 'location') throw badRequest('type: the social channel has no locations')
  if (requested.type === 'text') requireBytes(requested.text, 'text')
  else if (requested.type === 'interactive') requireSocialChoices(requested.interactive)
  else if (requested.text) throw badRequest('text: the social channel has no captions')
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
async function requireQuoted(
  sql: Sql,
  { workspaceId, channel, thread }: Target,
  { id, field }: Quote,
): Promise<string> {
  const [message] =
    thread && isUuid(id)
      ? await sql<{ external_id: string | null; is_sent: boolean }[]>`
          select external_id, status not in ('pending', 'failed') as is_sent from messages
          where workspace_id = ${workspaceId} and conversation_id = ${thread.conversation_id} and id = ${id}`
      : []
  if (!message) throw badRequest(`${field}: not a message of this conversation`)
  const { external_id, is_sent } = message
  const quoted = channel.quotableId ? channel.quotableId(external_id, is_sent ? id : null) : external_id
  if (quoted === null) throw badRequest(`${field}: the channel has no id for this message, so it cannot be quoted`)
  return quoted
}
