/**
 * The words of a text, as it is searched.
 *
 * A word is a run of letters and digits, without regard to case and accents.
 * Scripts that are written without blanks have no such runs: of those every
 * two characters side by side are a word, and the last one alone, so that any
 * part of a sentence is found. We take texts apart ourselves for the reason we
 * fold them ourselves: PostgreSQL would follow the locale of the database.
 */
import { fold } from './text.ts'

export type Word = { text: string; start: number; end: number }

/** What is looked for: a whole word, or the beginning of one. */
export type Term = { text: string; isPrefix: boolean }

const run = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu
const isAscii = /^[\x20-\x7e]*$/
const dense =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u
const denseOrNot = new RegExp(`${dense.source}+|(?:(?!${dense.source}).)+`, 'gu')
/** And marks by which digits become emoji. */
const accents = /[\u0300-\u036f\u20e3\ufe00-\ufe0f]/g

/** What is longer is no word anybody types; its beginning is enough. */
const maxWordLength = 40
/** And so much of a run is enough for that. Folding takes the square of the marks on a letter: a second for 30,000. */
const maxRunLength = 400
/** The beginning of a word is looked for from this length on. */
const minPrefixLength = 2

/** The words of a text in order, and where they stand in it. */
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

/** What somebody looks for: every word, of which the last may be a beginning only. */
export function readTerms(query: string): Term[] {
  const words = listWords(query).filter(
    // The end of a pair says no more than the pair.
    ({ text, start }, place, all) =>
      !(dense.test(text) && isOneCharacter(text) && all[place - 1]?.end === start + text.length),
  )
  const terms = new Map<string, Term>()
  words.forEach(({ text }, place) => {
    const isLast = place === words.length - 1
    const isPrefix = isLast
      ? dense.test(text) || text.length >= minPrefixLength
      : dense.test(text) && isOneCharacter(text)
    terms.set(text, { text, isPrefix: isPrefix || terms.get(text)?.isPrefix === true })
  })
  return [...terms.values()]
}

/** Where a text first has one of the words looked for, if it has all of them. */
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

/** About this many characters of a text around a place, on one line, cut between words where that is near. */
export function excerpt(text: string, place: number, length = 120): string {
  if (text.length <= length) return flatten(text)
  const wanted = Math.max(0, Math.min(place - Math.floor(length / 3), text.length - length))
  const start = wanted === 0 ? 0 : nextBlank(text, wanted, place)
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
  return characters.map((character, place) => {
    const word = toWord(character + (characters[place + 1] ?? ''), start)
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
