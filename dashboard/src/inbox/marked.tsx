/** A text with the words marked that somebody looked for, without regard to case and accents. */
import type { ReactNode } from 'react'

const run = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu
/** Scripts without blanks between words: what is looked for may be anywhere. */
const dense = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u

const fold = (text: string): string => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()

export function Marked({ text, query }: { text: string; query: string }) {
  const terms = (query.match(run) ?? []).map(fold)
  const parts: ReactNode[] = []
  let end = 0
  for (const { 0: word, index } of text.matchAll(run)) {
    const place = placeOf(fold(word), terms, word)
    if (!place) continue
    parts.push(text.slice(end, index + place.from), <mark key={index}>{word.slice(place.from, place.to)}</mark>)
    end = index + place.to
  }
  return (
    <>
      {parts}
      {text.slice(end)}
    </>
  )
}

function placeOf(folded: string, terms: readonly string[], word: string): { from: number; to: number } | undefined {
  if (terms.some((term) => folded.startsWith(term))) return { from: 0, to: word.length }
  if (!dense.test(word)) return undefined
  const term = terms.find((one) => folded.includes(one))
  if (!term) return undefined
  const from = folded.indexOf(term)
  return { from, to: from + term.length }
}
