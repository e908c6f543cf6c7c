/**
 * Turns the demo's people and texts into rows with times in the past. Pure, except for random ids and tokens.
 *
 * An id carries the time of its row, as everywhere. So lists are in order, and new rows come after these.
 */
import { randomBytes } from 'node:crypto'
import { readOptOutRequest } from '../accounts/opt-out-words.ts'
import type { TemplateParams } from '../channels/channel.ts'
import { fillTemplate } from '../channels/msgapp/template.ts'
import type { ChannelName } from '../contacts/resource.ts'
import { msOfId, pastId, timeOfId } from '../lib/id.ts'
import { fold } from '../lib/text.ts'
import { expandValues } from '../messages/sending/values.ts'
import { countOpen, createEntries, createQuestions, teamOf } from './activity.ts'
import type { Past, PastMessage, PastRecipient, PastThread } from './past.ts'
import { demoBroadcast, demoPeople, guestList, type PersonKey } from './people.ts'
import { type DemoLine, type DemoThread, demoThreads, spanOf } from './texts.ts'

export type PastPerson = ReturnType<typeof toPerson>

const dayMs = 86_400_000
const channelOf = ({ social, isVisitor }: { social?: unknown; isVisitor?: unknown }): ChannelName =>
  social ? 'social' : isVisitor ? 'web' : 'msgapp'

/** All people of the demo, by the key that the texts use. */
export function createPeople(past: Past): Map<PersonKey, PastPerson> {
  const keys = Object.keys(demoPeople) as PersonKey[]
  return new Map(keys.map((key) => [key, toPerson(past, key)]))
}

function toPerson({ nowMs, memberIds }: Past, key: PersonKey) {
  const {
    name,
    phone = null,
    email = null,
    company = null,
    social,
    since,
    tags = [],
    attributes = {},
    note,
  } = demoPeople[key]
  const noteId = note && pastId(nowMs - spanOf(note.ago))
  const lines = demoThreads.filter((thread) => thread.with === key).flatMap((thread) => thread.lines)
  const first = Math.max(since * dayMs, ...lines.map(({ ago }) => spanOf(ago)))
  const left = lines.find(
    ({ from, text }) => from === 'customer' && readOptOutRequest(text ?? '', new Set()) === 'stop',
  )
  const id = pastId(nowMs - first)
  const username = social?.username ?? null
  return {
    id,
    name,
    name_key: fold(name),
    phone,
    email,
    email_key: email && fold(email),
    company,
    company_key: company && fold(company),
    social_username: username,
    social_username_key: username && fold(username),
    created_at: timeOfId(id),
    opted_out_at: left ? new Date(nowMs - spanOf(left.ago)).toISOString() : null,
    channel: channelOf(demoPeople[key]),
    external_id: phone ?? social?.id ?? pastId(nowMs - first),
    tags,
    attributes,
    note: note && noteId ? { id: noteId, member_id: memberIds[note.by], text: note.text } : null,
  }
}

/** Creates every conversation with its messages in order, those of the broadcast included, and the recipients. */
export function createThreads(past: Past, people: ReadonlyMap<PersonKey, PastPerson>) {
  const broadcastMessages = new Map(
    guestList.map((key, place) => [key, toBroadcastMessage(past, requirePerson(people, key), key, place)]),
  )
  const talks = [...demoThreads, ...guestList.filter(isSilent).map(silent)]
  const threads = talks.flatMap((talk): PastThread[] => {
    const own = talk.channel === 'msgapp' ? broadcastMessages.get(talk.with) : undefined
    if (talk.lines.length === 0 && !own) return []
    return [toThread(past, requirePerson(people, talk.with), talk, own)]
  })
  const recipients = guestList.map((key, place): PastRecipient => {
    const { id, phone } = requirePerson(people, key)
    return { place: place + 1, contact_id: id, phone, message: broadcastMessages.get(key) }
  })
  countOpen(threads)
  return { threads, recipients }
}

/** A guest without a conversation on the primary channel. */
const isSilent = (key: PersonKey) => !demoThreads.some((talk) => talk.with === key && talk.channel === 'msgapp')
const silent = (key: PersonKey): DemoThread => ({ with: key, channel: 'msgapp', status: 'open', lines: [] })

function requirePerson(people: ReadonlyMap<PersonKey, PastPerson>, key: PersonKey): PastPerson {
  const person = people.get(key)
  if (!person) throw new Error(`the demo has no person ${key}`)
  return person
}

function toThread(past: Past, person: PastPerson, talk: DemoThread, broadcast: PastMessage | undefined): PastThread {
  const { channel, status, assignee, unread = 0, labels = [], snoozedFor, notes = [], lines } = talk
  const times = [...lines.map(({ ago }) => past.nowMs - spanOf(ago)), ...(broadcast ? [timeOf(broadcast)] : [])]
  const id = pastId(Math.min(...times))
  const written: PastMessage[] = []
  for (const line of lines) written.push(toMessage(past, id, channel, line, written))
  if (broadcast) broadcast.conversation_id = id
  const entries = createEntries(past, talk, written)
  const { ratings, asked } = createQuestions(past, talk, written)
  const added = asked.map((message): PastMessage => {
    const { id: messageId, ...own } = message
    return {
      ...blank(msOfId(messageId)),
      ...own,
      ...{ id: messageId, created_at: timeOfId(messageId), conversation_id: id, isOfRating: true },
      external_id: externalIdOf(channel),
    }
  })
  const messages = [...written, ...added, ...(broadcast ? [broadcast] : [])]
  const isWork = written.some(({ direction, sender_id }) => direction === 'inbound' || sender_id !== null)
  return {
    id,
    contact_id: person.id,
    channel,
    status,
    assigned_agent_id: assignee ? past.memberIds[assignee] : null,
    team_id: isWork ? past.teamIds[teamOf(talk)] : null,
    unread_count: unread,
    labels,
    snoozed_until: snoozedFor ? new Date(past.nowMs + spanOf(snoozedFor)).toISOString() : null,
    notes: notes.map(({ ago, text, by = 'owner', mentions = [] }) => {
      const noteId = pastId(past.nowMs - spanOf(ago))
      const mentioned = mentions.map((key) => past.memberIds[key])
      return { id: noteId, member_id: past.memberIds[by], mentions: mentioned, text, created_at: timeOfId(noteId) }
    }),
    created_at: timeOfId(id),
    messages: messages.sort((one, other) => timeOf(one) - timeOf(other)),
    entries: entries.map((entry) => ({ ...entry, conversation_id: id })),
    ratings,
  }
}

const timeOf = ({ created_at }: Pick<PastMessage, 'created_at'>) => Date.parse(created_at)

/** An id in the form that the channel uses. Messages of the web chat and refused messages have none. */
function externalIdOf(channel: ChannelName): string | null {
  if (channel === 'web') return null
  return channel === 'msgapp'
    ? `wamid.${randomBytes(30).toString('base64')}`
    : `aWdf${randomBytes(48).toString('base64url')}`
}

function toMessage(
  past: Past,
  conversationId: string,
  channel: ChannelName,
  line: DemoLine,
  written: PastMessage[],
): PastMessage {
  const { from, quotes, reacts } = line
  const isInbound = from === 'customer'
  const status = isInbound ? 'received' : (line.status ?? 'read')
  const target = quotes ?? reacts
  const picture = line.picture === undefined ? null : past.pictureOf(line.picture)
  return {
    ...blank(past.nowMs - spanOf(line.ago)),
    conversation_id: conversationId,
    direction: isInbound ? 'inbound' : 'outbound',
    sender_type: isInbound ? 'customer' : 'agent',
    sender_id: from === 'customer' || from === 'api' ? null : past.memberIds[from],
    ...contentOf(past, line),
    media_url: picture?.path ?? null,
    picture,
    external_id: status === 'failed' ? null : externalIdOf(channel),
    status,
    error: line.error ?? null,
    reply_to_message_id: target === undefined ? null : (written[target]?.id ?? null),
    sent_at: isInbound ? new Date(past.nowMs - spanOf(line.ago)).toISOString() : null,
  }
}

function blank(atMs: number): PastMessage {
  const id = pastId(atMs)
  return {
    conversation_id: '',
    id,
    direction: 'outbound',
    sender_type: 'bot',
    sender_id: null,
    content_type: 'text',
    content_text: null,
    content: null,
    media_url: null,
    template_name: null,
    external_id: null,
    status: 'read',
    error: null,
    reply_to_message_id: null,
    interactive_reply_id: null,
    broadcast_id: null,
    sent_at: null,
    created_at: timeOfId(id),
    picture: null,
    isOfRating: false,
  }
}

type Content = Pick<PastMessage, 'content_type' | 'content_text' | 'content' | 'template_name'>

function contentOf(past: Past, { text, reacts, picture, location, template }: DemoLine): Content {
  const plain = { content_text: text, content: null, template_name: null }
  if (template) return fill(past, template.name, template.params)
  if (location) {
    const content_text = [location.name, location.address].join(', ')
    return { ...plain, content_type: 'location', content_text, content: { location } }
  }
  if (picture !== undefined) return { ...plain, content_type: 'image' }
  return { ...plain, content_type: reacts === undefined ? 'text' : 'reaction' }
}

function fill({ templates }: Past, name: string, params: TemplateParams): Content {
  const template = templates.find((each) => each.name === name)
  const filled = template && fillTemplate(template, params)
  if (!filled?.ok) throw new Error(`${name}: ${filled ? filled.message : 'no template of the demo'}`)
  return { content_type: 'template', content_text: filled.text, content: filled.content, template_name: name }
}

/** The messages of the broadcast are a second apart. Undefined: the recipient was skipped. */
function toBroadcastMessage(past: Past, person: PastPerson, key: PersonKey, place: number): PastMessage | undefined {
  if (person.phone === null || person.opted_out_at !== null) return undefined
  const { template, ago, delivered, sent, failed } = demoBroadcast
  const values = expandValues(paramsOf(past), person)
  const isFailed = key === failed
  return {
    ...blank(past.nowMs - spanOf(ago) + place * 1_000),
    ...fill(past, template.name, values.ok ? values.params : {}),
    status: isFailed ? 'failed' : sent.includes(key) ? 'sent' : delivered.includes(key) ? 'delivered' : 'read',
    error: isFailed ? '131026: Message undeliverable' : null,
    external_id: isFailed ? null : externalIdOf('msgapp'),
    broadcast_id: past.broadcastId,
  }
}

export function paramsOf({ publicUrl, pictureOf }: Past): TemplateParams {
  const { values, picture } = demoBroadcast
  return { bodyNamed: values, headerMediaUrl: `${publicUrl}${pictureOf(picture).path}` }
}
