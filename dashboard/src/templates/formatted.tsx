/**
 * Text as the messaging app shows it: *bold*, _italic_, ~struck~, `code` and
 * ```code```, addresses in colour. It becomes elements, never HTML, so whatever
 * stands in it is shown and nothing is run.
 *
 * A mark begins where a word begins and ends where one ends, on one line; only
 * the three backticks reach over several. Variables are put in by `show`.
 */
import type { ReactNode } from 'react'
import { variable } from './shape.ts'

type Show = (name: string, key: string) => ReactNode

const marks: readonly { pattern: RegExp; element: 'strong' | 'em' | 's' | 'code'; isPlain?: boolean }[] = [
  { pattern: /```([\s\S]+?)```/, element: 'code', isPlain: true },
  { pattern: /`([^`\n]+)`/, element: 'code', isPlain: true },
  { pattern: /(?<![\p{L}\p{N}*])\*(?!\s)([^*\n]+?)(?<!\s)\*(?![\p{L}\p{N}*])/u, element: 'strong' },
  { pattern: /(?<![\p{L}\p{N}_])_(?!\s)([^_\n]+?)(?<!\s)_(?![\p{L}\p{N}_])/u, element: 'em' },
  { pattern: /(?<![\p{L}\p{N}~])~(?!\s)([^~\n]+?)(?<!\s)~(?![\p{L}\p{N}~])/u, element: 's' },
]

export const Formatted = ({ text, show }: { text: string; show: Show }) => <>{format(text, show, '')}</>

/** The mark that begins first goes first; what is before, inside and behind it is looked at in the same way. */
function format(text: string, show: Show, at: string): ReactNode[] {
  const first = marks
    .map((mark) => ({ ...mark, match: mark.pattern.exec(text) }))
    .filter(({ match }) => match)
    .sort((one, other) => (one.match?.index ?? 0) - (other.match?.index ?? 0))[0]
  if (!first?.match) return fill(text, show, at)
  const { match, element: Element, isPlain } = first
  const [whole, inside = ''] = match
  const key = `${at}${match.index}.`
  return [
    ...fill(text.slice(0, match.index), show, `${key}b.`),
    <Element key={key}>{isPlain ? fill(inside, show, `${key}i.`) : format(inside, show, `${key}i.`)}</Element>,
    ...format(text.slice(match.index + whole.length), show, `${key}a.`),
  ]
}

const pieces = new RegExp(`${variable.source}|(https?://[^\\s<>{}]+)`, 'g')

function fill(text: string, show: Show, at: string): ReactNode[] {
  const shown: ReactNode[] = []
  let end = 0
  for (const match of text.matchAll(pieces)) {
    const [whole, name, address] = match
    const key = `${at}${match.index}`
    shown.push(text.slice(end, match.index))
    shown.push(
      name === undefined ? (
        <span key={key} className="preview-link">
          {address}
        </span>
      ) : (
        show(name, key)
      ),
    )
    end = match.index + whole.length
  }
  return [...shown, text.slice(end)]
}
