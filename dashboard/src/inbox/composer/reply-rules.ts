/** Rules for replies: the reply window, length limits, and how text and files become messages. */

import type { Uploaded } from '../../lib/upload.ts'
import type { Conversation } from '../model/data.ts'
import type { Body } from '../model/unconfirmed.ts'

export type ReplyWindow =
  /** `closesAt`: null on a channel without a time limit. */
  | { state: 'open'; closesAt: number | null }
  /** The 24-hour window is closed; the channel still accepts replies written by a person. */
  | { state: 'late'; closesAt: number }
  | { state: 'closed'; hasWritten: boolean }

export function replyWindowOf(conversation: Conversation, now: number): ReplyWindow {
  const { channel, window_closes_at: closes, late_window_closes_at: late, last_inbound_at: written } = conversation
  if (channel === 'web') return { state: 'open', closesAt: null }
  if (closes && Date.parse(closes) > now) return { state: 'open', closesAt: Date.parse(closes) }
  if (late && Date.parse(late) > now) return { state: 'late', closesAt: Date.parse(late) }
  return { state: 'closed', hasWritten: written !== null }
}

const maxTextLength = 4_096
const maxCaptionLength = 1_024
const maxSocialBytes = 1_000

/** The number of characters (bytes on social) left before the channel's limit. Negative when the text is too long. */
export function remainingLength(channel: Conversation['channel'], text: string): number {
  if (channel === 'social') return maxSocialBytes - new TextEncoder().encode(text).length
  return maxTextLength - [...text].length
}

/** The messages to send: one per file. The text is the caption of the first file that can have one, else a message of its own. */
export function toBodies(
  channel: Conversation['channel'],
  text: string,
  files: readonly Uploaded[],
  quotedId: string | undefined,
): Body[] {
  const isCaption = channel !== 'social' && [...text].length <= maxCaptionLength
  const captioned = isCaption && text ? files.find(({ type }) => type !== 'audio') : undefined
  const bodies: Body[] = files.map((file) => ({
    type: file.type,
    media_url: file.media_url,
    ...(file.type === 'document' && file.filename ? { filename: file.filename } : {}),
    ...(file === captioned ? { text } : {}),
  }))
  if (text && !captioned) bodies.push({ type: 'text', text })
  return bodies.map((body, index) => (index === 0 && quotedId ? { ...body, reply_to_message_id: quotedId } : body))
}
