/**
 * Text: case folding, and limits of what PostgreSQL can store.
 *
 * Case-insensitive comparisons use text folded here, never `lower()` or `ilike`: those follow the locale of the database, so É
 * would match é on one installation and not on the next.
 */

const ascii = /^[\0-\x7f]*$/

/**
 * Folds case: texts that differ only in case become equal (É = é, ẞ = ß = SS, Σ = σ = ς). The text is decomposed first, because
 * some capitals have no composed form (ΐ), and composed afterwards, so that e is no part of é.
 */
export function fold(text: string): string {
  // ASCII needs no normalization: a batch of 1,000 contacts folds 5,000 texts.
  if (ascii.test(text)) return text.toLowerCase()
  return text.normalize('NFD').toLowerCase().toUpperCase().toLowerCase().replaceAll('ς', 'σ').normalize('NFC')
}

export const foldOrNull = (text: string | null): string | null => (text === null ? null : fold(text))

/** Without white space at both ends. Null for text that is missing or blank. */
export function textOrNull(text: string | null | undefined): string | null {
  return text?.trim() || null
}

/** White space, punctuation, and invisible marks such as those for the direction of writing. */
const edge = /^[\s\p{P}\p{Cf}]$/u

/**
 * Removes white space and punctuation at both ends. A loop visits each end once; a regular expression would backtrack at
 * every full stop within a long text.
 */
export function bareOf(text: string): string {
  let start = 0
  let end = text.length
  while (start < end) {
    const first = String.fromCodePoint(text.codePointAt(start) ?? 0)
    if (!edge.test(first)) break
    start += first.length
  }
  while (end > start) {
    const isPair = end - start > 1 && (text.codePointAt(end - 2) ?? 0) > 0xffff
    const last = text.slice(isPair ? end - 2 : end - 1, end)
    if (!edge.test(last)) break
    end -= last.length
  }
  return text.slice(start, end)
}

/** The zeros of other digits: Arabic, Persian, Devanagari, Bengali, wide. */
const zeros = [0x660, 0x6f0, 0x966, 0x9e6, 0xff10]

/** The text with the digits 0 to 9. */
export const toDigits = (text: string): string =>
  text.replace(/\p{Nd}/gu, (digit) => {
    const code = digit.codePointAt(0) ?? 0
    const zero = zeros.find((each) => code >= each && code <= each + 9)
    return zero === undefined ? digit : String(code - zero)
  })

/** Escapes the wildcards of `like`. */
export function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}

/** PostgreSQL refuses NUL, and UTF-8 cannot encode lone surrogates. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

export const isHttpsUrl = (text: string): boolean => URL.parse(text)?.protocol === 'https:'
export const isHttpUrl = (text: string): boolean => /^https?:$/.test(URL.parse(text)?.protocol ?? '')

/** Length in characters (code points), which all limits of the API count. */
export function lengthOf(text: string): number {
  let length = text.length
  for (let i = 0; i < text.length - 1; i++) {
    if ((text.charCodeAt(i) & 0xfc00) === 0xd800 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) length--
  }
  return length
}

/** Colours that the service assigns by name: the same name always gets the same colour. */
const palette = [
  '#e11d48',
  '#ea580c',
  '#d97706',
  '#65a30d',
  '#059669',
  '#0d9488',
  '#0284c7',
  '#4f46e5',
  '#7c3aed',
  '#c026d3',
] as const

export function colorOf(name: string): string {
  let hash = 0
  for (const character of name) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) >>> 0
  return palette[hash % palette.length] ?? palette[0]
}
