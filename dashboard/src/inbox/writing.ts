/** The rules of writing: what a channel carries, until when, and what is made of a text with files. Pure, but for drafts. */

import type { Uploaded } from '../lib/upload.ts'
import type { Conversation } from './data.ts'
import type { Body } from './outbox.ts'

export type Writing =
  /** `closesAt`: null where the channel never closes. */
  | { is: 'open'; closesAt: number | null }
  /** The ordinary window is over; a person may still answer. */
  | { is: 'late'; closesAt: number }
  | { is: 'closed'; hasWritten: boolean }

export function writingOf(conversation: Conversation, now: number): Writing {
  const { channel, window_closes_at: closes, late_window_closes_at: late, last_inbound_at: written } = conversation
  if (channel === 'web') return { is: 'open', closesAt: null }
  if (closes && Date.parse(closes) > now) return { is: 'open', closesAt: Date.parse(closes) }
  if (late && Date.parse(late) > now) return { is: 'late', closesAt: Date.parse(late) }
  return { is: 'closed', hasWritten: written !== null }
}

const maxText = 4_096
const maxCaption = 1_024
const maxSocialBytes = 1_000

/** How much more may be written. */
export function roomFor(channel: Conversation['channel'], text: string): number {
  if (channel === 'social') return maxSocialBytes - new TextEncoder().encode(text).length
  return maxText - [...text].length
}

/** The messages to send: files with the text as a caption where there are captions, else the text by itself after them. */
export function toBodies(
  channel: Conversation['channel'],
  text: string,
  files: readonly Uploaded[],
  quotedId: string | undefined,
): Body[] {
  const isCaption = channel === 'msgapp' && [...text].length <= maxCaption
  const captioned = isCaption && text ? files.find(({ type }) => type !== 'audio') : undefined
  const bodies: Body[] = files.map((file) => ({
    type: file.type,
    media_url: file.media_url,
    ...(file.type === 'document' && file.filename ? { filename: file.filename } : {}),
    ...(file === captioned ? { text } : {}),
  }))
  if (text && !captioned) bodies.push({ type: 'text', text })
  return bodies.map((body, place) => (place === 0 && quotedId ? { ...body, reply_to_message_id: quotedId } : body))
}

const place = (id: string) => `parley-draft-${id}`

/** What somebody began to write stays until it is sent or the window is closed. */
export const readDraft = (id: string): string => sessionStorage.getItem(place(id)) ?? ''

export function keepDraft(id: string, text: string): void {
  if (text) sessionStorage.setItem(place(id), text)
  else sessionStorage.removeItem(place(id))
}
