/**
 * The words by which a customer opts out of broadcasts, and in again.
 *
 * Only a whole message counts: "stop" is a wish, "please stop by" is none.
 * Case, blanks and punctuation around it do not matter. A workspace adds words
 * of its own, in the language of its customers.
 */
import { badRequest } from '../lib/errors.ts'
import { bareOf, fold, lengthOf } from '../lib/text.ts'

export type Wish = 'stop' | 'resume'

const keyOf = (word: string) => fold(bareOf(word))

/** Words as messages are compared with them. */
export const toKeys = (words: readonly string[]): ReadonlySet<string> => new Set(words.map(keyOf))

const stops = toKeys(['STOP', 'UNSUBSCRIBE'])
const resumes = toKeys(['START'])

const maxWords = 50
const maxLength = 80
/** No word has more UTF-16 units, however its letters are composed: what does need not be folded. */
const maxUnits = 500

/** What a message asks for, if it asks for anything; `own` are the keys of the workspace's words. */
export function readWish(text: string, own: ReadonlySet<string>): Wish | undefined {
  const bare = bareOf(text)
  if (bare.length > maxUnits) return undefined
  const key = fold(bare)
  if (resumes.has(key)) return 'resume'
  return stops.has(key) || own.has(key) ? 'stop' : undefined
}

/** Words as they may be stored: trimmed, each once, in the order given. */
export function readOptOutWords(given: readonly string[]): string[] {
  const byKey = new Map<string, string>()
  given.forEach((text, i) => {
    const word = text.trim()
    if (word === '') throw badRequest(`opt_out_words[${i}]: must not be blank`)
    if (lengthOf(word) > maxLength) throw badRequest(`opt_out_words[${i}]: must have at most ${maxLength} characters`)
    const key = keyOf(word)
    if (key === '') throw badRequest(`opt_out_words[${i}]: must have more than punctuation`)
    if (resumes.has(key)) throw badRequest(`opt_out_words[${i}]: ${word} is the word for opting in again`)
    if (!byKey.has(key)) byKey.set(key, word)
  })
  if (byKey.size > maxWords) throw badRequest(`opt_out_words: must have at most ${maxWords} different words`)
  return [...byKey.values()]
}
