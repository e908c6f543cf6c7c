/**
 * Opt-out words: the messages by which a customer opts out of broadcasts, and in again.
 *
 * Only a whole message counts: "stop" opts out, "please stop by" does not. Case, white space and punctuation around it are
 * ignored. A workspace can add words in the language of its customers.
 */
import { badRequest } from '../lib/errors.ts'
import { bareOf, fold, lengthOf } from '../lib/text.ts'

export type OptOutRequest = 'stop' | 'resume'

const keyOf = (word: string) => fold(bareOf(word))

/** The folded words that messages are compared with. */
export const toKeys = (words: readonly string[]): ReadonlySet<string> => new Set(words.map(keyOf))

const stops = toKeys(['STOP', 'UNSUBSCRIBE'])
const resumes = toKeys(['START'])

const maxWords = 50
const maxLength = 80
/** No word has more UTF-16 units, in any composition of its letters, so longer messages need not be folded. */
const maxUnits = 500

/** The request that a message makes, if any. `own` are the folded words of the workspace. */
export function readOptOutRequest(text: string, own: ReadonlySet<string>): OptOutRequest | undefined {
  const bare = bareOf(text)
  if (bare.length > maxUnits) return undefined
  const key = fold(bare)
  if (resumes.has(key)) return 'resume'
  return stops.has(key) || own.has(key) ? 'stop' : undefined
}

/** The words to store: trimmed, without duplicates, in the order of the input. */
export function readOptOutWords(input: readonly string[]): string[] {
  const byKey = new Map<string, string>()
  input.forEach((text, i) => {
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
