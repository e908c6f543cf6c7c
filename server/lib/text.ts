/**
 * Text as people compare it, and text as PostgreSQL can keep it.
 *
 * Comparing without regard to case is done on folded text that we make
 * ourselves, never by `lower()` or `ilike`: those follow the database's locale
 * and would find É for é on one installation and not on the next.
 */

/**
 * Fold to the form in which two spellings that differ only in case are equal: É = é, ẞ = ß = SS, Σ = σ = ς.
 * Decomposed before, as capitals may lose their accents' composition (ΐ has none), and composed after, so that e is no part of é.
 */
export function fold(text: string): string {
  return text.normalize('NFD').toLowerCase().toUpperCase().toLowerCase().replaceAll('ς', 'σ').normalize('NFC')
}

/** The text, or null for text that is missing or blank. */
export function textOrNull(text: string | null | undefined): string | null {
  return text?.trim() ? text : null
}

/** Blanks, punctuation, and marks nobody sees, such as those that turn the direction of writing. */
const edge = /^[\s\p{P}\p{Cf}]$/u

/**
 * The text without blanks and punctuation at its ends. Each end is walked once: an expression would start anew at every
 * full stop inside of a long text.
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

/** Escape what `like` takes for wildcards, so that `%` and `_` mean themselves. */
export function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}

/** NUL and lone surrogates are no text: PostgreSQL refuses the one, UTF-8 cannot carry the other. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

export const isHttpUrl = (text: string): boolean => /^https?:$/.test(URL.parse(text)?.protocol ?? '')

/** Length in characters (code points), as every limit of the API counts. */
export function lengthOf(text: string): number {
  let length = text.length
  for (let i = 0; i < text.length - 1; i++) {
    if ((text.charCodeAt(i) & 0xfc00) === 0xd800 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) length--
  }
  return length
}

/** A fixed palette for what the service colours itself; the same name always gets the same colour. */
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
