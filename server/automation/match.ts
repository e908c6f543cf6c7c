/**
 * Does a cause start an automation: the pure part of a trigger. Conditions are decided later, by the database.
 *
 * Words are compared without case and accents, as whole words. Scripts that are written without spaces have no whole words, so their
 * words are found anywhere.
 */
import { fold } from '../lib/text.ts'
import type {
  ClockKind,
  contactEvents,
  conversationEvents,
  Duration,
  MessageTrigger,
  silenceEvents,
  Trigger,
  targetEvents,
} from './definition.ts'
import { toMs } from './durations.ts'

/** What happened, with what a trigger can ask for. */
export type Cause =
  | {
      type: 'message'
      text: string | null
      content_type: string
      /** The id of the button or row that the customer tapped. */
      button: string | null
      is_first: boolean
      is_first_since_closed: boolean
    }
  | { type: 'conversation'; event: (typeof conversationEvents)[number]; label?: string | null }
  | { type: 'contact'; event: (typeof contactEvents)[number]; tag?: string | null; attribute?: string | null }
  | { type: 'silence'; event: (typeof silenceEvents)[number]; after: Duration }
  | { type: 'target'; event: (typeof targetEvents)[number]; target: string; clock: ClockKind; minutes: number }
  | { type: 'rating'; rating: number }
  | { type: 'manual' }

type MessageCause = Extract<Cause, { type: 'message' }>

export function matches(trigger: Trigger, cause: Cause): boolean {
  if (trigger.type === 'message') return cause.type === 'message' && matchesMessage(trigger, cause)
  if (trigger.type === 'conversation') {
    return cause.type === 'conversation' && cause.event === trigger.event && isNamed(trigger.label, cause.label)
  }
  if (trigger.type === 'contact') {
    if (cause.type !== 'contact' || cause.event !== trigger.event) return false
    return isNamed(trigger.tag, cause.tag) && (trigger.attribute === undefined || trigger.attribute === cause.attribute)
  }
  if (trigger.type === 'silence') {
    return cause.type === 'silence' && cause.event === trigger.event && toMs(cause.after) === toMs(trigger.after)
  }
  if (trigger.type === 'target') return cause.type === 'target' && matchesTarget(trigger, cause)
  if (trigger.type === 'rating') return cause.type === 'rating' && cause.rating <= (trigger.at_most ?? Infinity)
  return cause.type === 'manual'
}

type Of<Type extends Trigger['type']> = Extract<Trigger, { type: Type }>

function matchesTarget(
  { event, before, target, clock }: Of<'target'>,
  cause: Extract<Cause, { type: 'target' }>,
): boolean {
  if (event !== cause.event || (target !== undefined && target !== cause.target)) return false
  if (clock !== undefined && clock !== cause.clock) return false
  return event === 'breached' || toMs(before ?? '') === cause.minutes * 60_000
}

/** Names of tags and labels are unique without regard to case. */
function isNamed(expected: string | undefined, name: string | null | undefined): boolean {
  return expected === undefined || (typeof name === 'string' && fold(expected.trim()) === fold(name.trim()))
}

function matchesMessage(
  { when, button, content_types: types, contains }: MessageTrigger,
  cause: MessageCause,
): boolean {
  if (when === 'first' && !cause.is_first) return false
  if (when === 'first_since_closed' && !cause.is_first_since_closed) return false
  if (button !== undefined && button !== cause.button) return false
  if (types && !types.some((type) => type === cause.content_type)) return false
  return !contains || containsOne(contains, cause)
}

type Text = { key: string; borders?: Uint8Array }
type Word = { key: string; fallbacks: readonly number[] }

/** The prepared texts of causes and words of triggers: a message is compared with the words of many automations. */
const preparedTexts = new WeakMap<MessageCause, Text>()
const preparedWords = new WeakMap<readonly string[], readonly Word[]>()

function containsOne(words: readonly string[], cause: MessageCause): boolean {
  if (!cause.text) return false
  const text = preparedTexts.get(cause) ?? { key: toKey(cause.text) }
  preparedTexts.set(cause, text)
  const prepared = preparedWords.get(words) ?? words.map(toKey).map((key) => ({ key, fallbacks: fallbacksOf(key) }))
  preparedWords.set(words, prepared)
  return prepared.some((word) => hasWord(text, word))
}

/** Whether a word has something to compare. */
export const isMatchable = (word: string): boolean => toKey(word) !== ''

const ascii = /^[\0-\x7f]*$/
/** Accents and the marks of Hebrew and Arabic. The vowel signs of other scripts, and the voicing marks of Japanese, distinguish words. */
const accents = /[[\p{Mn}&&[\p{Script=Inherited}\p{Script=Hebrew}\p{Script=Arabic}]]--[\u3099\u309a]]/gv

/** The form in which texts are compared: without accents and case, with single spaces. */
function toKey(text: string): string {
  const bare = ascii.test(text) ? text : text.normalize('NFKD').replace(accents, '')
  return fold(bare).replace(/\s+/g, ' ').trim()
}

/** For each length of a matched start: the length of the longest shorter start that matches there too (Knuth, Morris, Pratt). */
function fallbacksOf(key: string): number[] {
  const fallbacks = [0]
  for (let i = 1, length = 0; i < key.length; i++) {
    while (length > 0 && key[i] !== key[length]) length = fallbacks[length - 1] ?? 0
    if (key[i] === key[length]) length++
    fallbacks.push(length)
  }
  return fallbacks
}

/**
 * Most texts do not have the word, which `includes` finds out in a tenth of the time. Linear otherwise: `indexOf` in a loop takes quadratic
 * time for a word and a text of one letter.
 */
function hasWord(text: Text, { key, fallbacks }: Word): boolean {
  if (key === '' || !text.key.includes(key)) return false
  for (let i = 0, length = 0; i < text.key.length; i++) {
    const unit = text.key.charCodeAt(i)
    while (length > 0 && unit !== key.charCodeAt(length)) length = fallbacks[length - 1] ?? 0
    if (unit === key.charCodeAt(length)) length++
    if (length < key.length) continue
    text.borders ??= bordersOf(text.key)
    if (text.borders[i + 1 - length] === 1 && text.borders[i + 1] === 1) return true
    length = fallbacks[length - 1] ?? 0
  }
  return false
}

const wordCharacter = /^[\p{L}\p{N}\p{M}]$/u
const spaceless =
  /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]$/u

/** 1 for each index before which a word can end and at which one can start. */
function bordersOf(text: string): Uint8Array {
  const borders = new Uint8Array(text.length + 1)
  let isInside = false
  let index = 0
  for (const character of text) {
    const isWord = wordCharacter.test(character) && !spaceless.test(character)
    borders[index] = isInside && isWord ? 0 : 1
    isInside = isWord
    index += character.length
  }
  borders[index] = 1
  return borders
}
