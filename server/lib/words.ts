/**
 * Tokenizer for full-text search.
 *
 * A word is a run of letters and digits, without case and accents. Scripts that are written without spaces have no such runs:
 * every pair of adjacent characters is a word there, and so is the last character, so that any part of a sentence is found.
 * PostgreSQL's own tokenizer is not used, because it follows the locale of the database.
 */
import { fold } from './text.ts'

export type Word = { text: string; start: number; end: number }

/** A search term: a whole word, or the beginning of one. */
export type Term = { text: string; isPrefix: boolean }

const run = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu
const isAscii = /^[\x20-\x7e]*$/
const dense =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u
const denseOrNot = new RegExp(`${dense.source}+|(?:(?!${dense.source}).)+`, 'gu')
/** Accents, and the marks that turn digits into emoji. */
const accents = /[\u0300-\u036f\u20e3\ufe00-\ufe0f]/g

/** Longer words are cut: their beginning is enough to find them. */
const maxWordLength = 40
/** Longer runs are cut before folding, which takes quadratic time in the marks on a letter: a second for 30,000. */
const maxRunLength = 400
/** Shorter terms match whole words only. */
const minPrefixLength = 2

/** The words of a text in order, with their positions. */
export function listWords(text: string): Word[] {
  const words: Word[] = []
  for (const { 0: found, index } of text.matchAll(run)) {
    if (isAscii.test(found) || !dense.test(found)) words.push(toWord(found, index))
    else {
      for (const part of found.matchAll(denseOrNot)) words.push(...splitRun(part[0], index + part.index))
    }
  }
  return words.filter(({ text: word }) => word !== '')
}

/** The terms of a search query. The last word may be the beginning of a longer one. */
export function readTerms(query: string): Term[] {
  const words = listWords(query).filter(
    // The last character alone adds nothing to the pair that it ends.
    ({ text, start }, i, all) => !(dense.test(text) && isOneCharacter(text) && all[i - 1]?.end === start + text.length),
  )
  const terms = new Map<string, Term>()
  words.forEach(({ text }, i) => {
    const isLast = i === words.length - 1
    const isPrefix = isLast
      ? dense.test(text) || text.length >= minPrefixLength
      : dense.test(text) && isOneCharacter(text)
    terms.set(text, { text, isPrefix: isPrefix || terms.get(text)?.isPrefix === true })
  })
  return [...terms.values()]
}

/** The position of the first match, if the text matches all terms. */
export function findTerms(text: string, terms: readonly Term[]): number | undefined {
  const words = listWords(text)
  let first = Number.POSITIVE_INFINITY
  for (const term of terms) {
    const word = words.find((one) => (term.isPrefix ? one.text.startsWith(term.text) : one.text === term.text))
    if (!word) return undefined
    first = Math.min(first, word.start)
  }
  return Number.isFinite(first) ? first : undefined
}

/** About `length` characters of a text around a position, on one line, cut between words where possible. */
export function excerpt(text: string, position: number, length = 120): string {
  if (text.length <= length) return flatten(text)
  const wanted = Math.max(0, Math.min(position - Math.floor(length / 3), text.length - length))
  const start = wanted === 0 ? 0 : nextBlank(text, wanted, position)
  const end = Math.min(text.length, start + length)
  const part = text.slice(start, end).toWellFormed().replaceAll('\ufffd', '')
  return `${start > 0 ? '…' : ''}${flatten(part)}${end < text.length ? '…' : ''}`
}

const flatten = (text: string): string => text.replace(/\s+/gu, ' ').trim()

function nextBlank(text: string, from: number, to: number): number {
  const blank = text.slice(from, to).search(/\s/u)
  return blank === -1 ? from : from + blank + 1
}

const isOneCharacter = (text: string): boolean =>
  text.length === 1 || (text.length === 2 && (text.codePointAt(0) ?? 0) > 0xffff)

function splitRun(found: string, index: number): Word[] {
  if (!dense.test(found)) return [toWord(found, index)]
  const characters = [...found]
  let start = index
  return characters.map((character, i) => {
    const word = toWord(character + (characters[i + 1] ?? ''), start)
    start += character.length
    return word
  })
}

function toWord(found: string, start: number): Word {
  const begin = found.length > maxRunLength ? found.slice(0, maxRunLength).toWellFormed() : found
  const folded = isAscii.test(begin)
    ? begin.toLowerCase()
    : fold(begin).normalize('NFD').replace(accents, '').normalize('NFC')
  const text = folded.length > maxWordLength ? folded.slice(0, maxWordLength).toWellFormed() : folded
  return { text, start, end: start + found.length }
}
