/**
 * Tokenizer for full-text search.
 *
 * A word is a run of letters and digits, without case and accents. Scripts that are written without spaces have no such runs:
 * every pair of adjacent characters is a word there, and so is the last character, so that any part of a sentence is found.
 * PostgreSQL's own tokenizer is not used, because it follows the locale of the database.
 */
import { fold } from '../lib/text.ts'

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
/**
 * Only the beginning of a text is searched, twice as long as the longest text that the API sends. A provider reports up to 65,536
 * characters, which took 50 ms.
 */
export const maxSearchedLength = 8_000

/** The words of a text in order, with their positions. */
export function* listWords(text: string): Generator<Word> {
  for (const { 0: found, index } of text.slice(0, maxSearchedLength).matchAll(run)) {
    for (const word of splitRun(found, index)) if (word.text !== '') yield word
  }
}

/** The terms of a search query. The last word may be the beginning of a longer one. */
export function readTerms(query: string): Term[] {
  const words = [...listWords(query)].filter(
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
  const missing = new Set(terms)
  let first: number | undefined
  for (const word of listWords(text)) {
    for (const term of missing) {
      if (term.isPrefix ? !word.text.startsWith(term.text) : word.text !== term.text) continue
      missing.delete(term)
      first ??= word.start
    }
    if (missing.size === 0) return first
  }
  return undefined
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

function* splitRun(found: string, index: number): Generator<Word> {
  if (isAscii.test(found) || !dense.test(found)) return yield toWord(found, index)
  for (const { 0: part, index: offset } of found.matchAll(denseOrNot)) {
    let start = index + offset
    if (!dense.test(part)) yield toWord(part, start)
    else {
      const characters = [...part]
      for (const [i, character] of characters.entries()) {
        yield toWord(character + (characters[i + 1] ?? ''), start)
        start += character.length
      }
    }
  }
}

function toWord(found: string, start: number): Word {
  const begin = found.length > maxRunLength ? found.slice(0, maxRunLength).toWellFormed() : found
  const folded = isAscii.test(begin)
    ? begin.toLowerCase()
    : fold(begin).normalize('NFD').replace(accents, '').normalize('NFC')
  const text = folded.length > maxWordLength ? folded.slice(0, maxWordLength).toWellFormed() : folded
  return { text, start, end: start + found.length }
}
