/**
 * Splits a text at the formatting marks of the messaging app: *bold*, _italic_, ~strikethrough~ and `code`. A mark opens at the start
 * of a word and closes at the end of one, on one line. No lookbehind: older browsers cannot parse it.
 */
export type MarkedPart = { text: string; tag?: 'strong' | 'em' | 's' | 'code' }

const tags = { '*': 'strong', _: 'em', '~': 's', '`': 'code' } as const
const mark = /(^|[^\p{L}\p{N}*_~`])([*_~`])(?=\S)((?:(?!\2).)*\S)\2(?![\p{L}\p{N}])/u

export function findMarks(text: string): MarkedPart[] {
  const match = mark.exec(text)
  const [whole = '', before = '', sign = '*', inside = ''] = match ?? []
  if (!match) return text ? [{ text }] : []
  const start = match.index + before.length
  const plain = text.slice(0, start)
  return [
    ...(plain ? [{ text: plain }] : []),
    { text: inside, tag: tags[sign as keyof typeof tags] },
    ...findMarks(text.slice(match.index + whole.length)),
  ]
}
