/**
 * Formats text like the messaging app: *bold*, _italic_, ~strikethrough~, `code` and ```code```. Returns React elements,
 * never HTML.
 *
 * A mark opens at the start of a word and closes at the end of one, on one line. Only three backticks span several lines.
 */
import type { ReactNode } from 'react'
import { variable } from './parse-template.ts'

type Show = (name: string, key: string) => ReactNode
/** Renders text without marks; the keys of its elements start with `at`. */
type Render = (text: string, at: string) => ReactNode[]

const marks: readonly { pattern: RegExp; element: 'strong' | 'em' | 's' | 'code'; isPlain?: boolean }[] = [
  { pattern: /```([\s\S]+?)```/, element: 'code', isPlain: true },
  { pattern: /`([^`\n]+)`/, element: 'code', isPlain: true },
  { pattern: /(?<![\p{L}\p{N}*])\*(?!\s)([^*\n]+?)(?<!\s)\*(?![\p{L}\p{N}*])/u, element: 'strong' },
  { pattern: /(?<![\p{L}\p{N}_])_(?!\s)([^_\n]+?)(?<!\s)_(?![\p{L}\p{N}_])/u, element: 'em' },
  { pattern: /(?<![\p{L}\p{N}~])~(?!\s)([^~\n]+?)(?<!\s)~(?![\p{L}\p{N}~])/u, element: 's' },
]

/** Whether the messaging app shows a part of the text in another style. */
export const hasMarks = (text: string): boolean => marks.some(({ pattern }) => pattern.test(text))

/** A text without its marks, where a page cannot show them as a style. */
export const withoutMarks = (text: string): string =>
  marks.reduce((plain, { pattern }) => plain.replace(new RegExp(pattern, `${pattern.flags}g`), '$1'), text)

/** A template's text: `show` fills in its variables. */
export const Formatted = ({ text, show }: { text: string; show: Show }) => (
  <>{format(text, (part, at) => fill(part, show, at))}</>
)

/** Splits at the mark that starts first, then formats what is before, inside and after it. */
export function format(text: string, render: Render, at = ''): ReactNode[] {
  const first = marks
    .map((mark) => ({ ...mark, match: mark.pattern.exec(text) }))
    .filter(({ match }) => match)
    .sort((one, other) => (one.match?.index ?? 0) - (other.match?.index ?? 0))[0]
  if (!first?.match) return render(text, at)
  const { match, element: Element, isPlain } = first
  const [whole, inside = ''] = match
  const key = `${at}${match.index}.`
  return [
    ...render(text.slice(0, match.index), `${key}b.`),
    <Element key={key}>{isPlain ? render(inside, `${key}i.`) : format(inside, render, `${key}i.`)}</Element>,
    ...format(text.slice(match.index + whole.length), render, `${key}a.`),
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
