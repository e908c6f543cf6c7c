/** Text with the search terms highlighted, ignoring case and accents. */
import type { ReactNode } from 'react'

const wordPattern = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu
/** Scripts without spaces between words: a term can match anywhere. */
const unspacedScript = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u

const fold = (text: string): string => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()

export function HighlightedText({ text, query }: { text: string; query: string }) {
  const terms = (query.match(wordPattern) ?? []).map(fold)
  const parts: ReactNode[] = []
  let end = 0
  for (const { 0: word, index } of text.matchAll(wordPattern)) {
    const match = matchOf(fold(word), terms, word)
    if (!match) continue
    parts.push(text.slice(end, index + match.from), <mark key={index}>{word.slice(match.from, match.to)}</mark>)
    end = index + match.to
  }
  return (
    <>
      {parts}
      {text.slice(end)}
    </>
  )
}

function matchOf(folded: string, terms: readonly string[], word: string): { from: number; to: number } | undefined {
  if (terms.some((term) => folded.startsWith(term))) return { from: 0, to: word.length }
  if (!unspacedScript.test(word)) return undefined
  const term = terms.find((one) => folded.includes(one))
  if (!term) return undefined
  const from = folded.indexOf(term)
  return { from, to: from + term.length }
}
