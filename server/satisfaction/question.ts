/** The question as each channel shows it, and what a customer's message answers. Pure. */
import type { ContentType } from '../channels/channel.ts'
import type { ChannelName } from '../contacts/resource.ts'
import { bareOf, fold, toDigits } from '../lib/text.ts'
import type { RequestedContent } from '../messages/sending/requested-content.ts'
import type { Settings } from './settings.ts'

/** Best first. */
const ratings = [5, 4, 3, 2, 1] as const

/** For how long an answer counts. */
const answerMs = 3 * 86_400_000
/** For how long after a rating a text is its comment. */
export const commentMs = 15 * 60_000

const choiceId = (messageId: string, rating: number): string => `rating:${messageId}:${rating}`

/** A list on msgapp, which has at most three buttons; quick replies on social; choices on web. */
export function toQuestion(
  { question: body, choices, list_button: button }: Pick<Settings, 'question' | 'choices' | 'list_button'>,
  channel: ChannelName,
  messageId: string,
): RequestedContent {
  const rows = ratings.map((rating) => ({ id: choiceId(messageId, rating), title: choices[rating - 1] ?? `${rating}` }))
  if (channel === 'msgapp') {
    return { type: 'interactive', interactive: { kind: 'list', body, button, sections: [{ title: button, rows }] } }
  }
  return { type: 'interactive', interactive: { kind: 'buttons', body, buttons: rows } }
}

/** The question and the rating of a tapped choice; undefined for the buttons of other messages. */
export function readChoiceId(id: string | null): { messageId: string; rating: number } | undefined {
  const [, messageId, rating] = /^rating:([0-9a-f-]{36}):([1-5])$/.exec(id ?? '') ?? []
  return messageId === undefined ? undefined : { messageId, rating: Number(rating) }
}

export type Written = {
  text: string | null
  content_type: ContentType
  /** The id of the tapped button or row. */
  button: string | null
  /** Whether the text opts out of broadcasts or in again. */
  is_wish: boolean
}

/** A question with its answer so far. */
export type Asked = {
  message_id: string
  state: 'asked' | 'rated'
  asked_at: string
  comment: string | null
  comment_until: string | null
  choices: readonly string[]
}

/** `tap` counts in every conversation, the others only while it is closed. */
export type Answer = { kind: 'tap' | 'text'; rating: number } | { kind: 'comment'; comment: string }

/** What a message answers; undefined: nothing, it is a message like any other. */
export function judge(asked: Asked, written: Written, atMs: number): Answer | undefined {
  if (atMs > Date.parse(asked.asked_at) + answerMs) return undefined
  const tapped = readChoiceId(written.button)
  if (tapped) return tapped.messageId === asked.message_id ? { kind: 'tap', rating: tapped.rating } : undefined
  if (asked.state === 'asked') {
    const rating = readRating(written, asked.choices)
    return rating === undefined ? undefined : { kind: 'text', rating }
  }
  const { comment_until: until, comment } = asked
  const isComment = written.content_type === 'text' && !written.is_wish && comment === null
  if (!isComment || !written.text?.trim() || until === null || atMs > Date.parse(until)) return undefined
  return { kind: 'comment', comment: written.text.trim() }
}

const stars = /^(?:[⭐★🌟]\ufe0f?){1,5}$/u

/** The digit, so many stars, or the title of a choice. The text of a template's button may also begin with the digit. */
export function readRating(
  { text, content_type }: Pick<Written, 'text' | 'content_type'>,
  choices: readonly string[],
): number | undefined {
  const isButton = content_type === 'button'
  if (text === null || !(isButton || content_type === 'text')) return undefined
  const key = bareOf(text.trim())
  if (stars.test(text.trim())) return [...text.matchAll(/[⭐★🌟]/gu)].length
  const digits = toDigits(key)
  const [, digit] = (isButton ? /^([1-5])(?!\d)/ : /^([1-5])$/).exec(digits) ?? []
  if (digit !== undefined) return Number(digit)
  const index = choices.findIndex((choice) => fold(bareOf(choice)) === fold(key))
  return index < 0 ? undefined : index + 1
}
