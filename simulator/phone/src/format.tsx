/** Message text: links on every channel, and the marks *bold*, _italic_, ~struck~, `code` and ```block``` on Messages. */
import type { ReactNode } from 'react'
import type { Bubble } from './api.ts'

type Part = string | { tag: 'strong' | 'em' | 's' | 'code' | 'a'; children: readonly Part[]; href?: string }

type RichTextProps = { text: string; hasMarks: boolean; className?: string }

export function RichText({ text, hasMarks, className = 'text' }: RichTextProps) {
  return (
    <p className={className} dir="auto">
      {render(parse(text, hasMarks))}
    </p>
  )
}

const render = (parts: readonly Part[]): ReactNode[] =>
  parts.map((part, index) => {
    if (typeof part === 'string') return part
    const { tag: Tag, children, href } = part
    const link = href ? { href, target: '_blank', rel: 'noopener noreferrer' } : {}
    return (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text never move.
      <Tag key={index} {...link}>
        {render(children)}
      </Tag>
    )
  })

const parse = (text: string, hasMarks: boolean): Part[] =>
  hasMarks ? parseCode(text) : parseLinks(text, (part) => [part])

function parseCode(text: string): Part[] {
  return text.split(/(```[\s\S]+?```|`[^`\n]+`)/).flatMap((part): Part[] => {
    const code = /^```([\s\S]+)```$/.exec(part)?.[1]?.replace(/^\n|\n$/g, '') ?? /^`([^`]+)`$/.exec(part)?.[1]
    return code === undefined ? parseLinks(part, parseMarks) : [{ tag: 'code', children: [code] }]
  })
}

function parseLinks(text: string, parseRest: (part: string) => Part[]): Part[] {
  return text.split(/(https?:\/\/[^\s<>"]+)/i).flatMap((part, index): Part[] => {
    if (index % 2 === 0) return part ? parseRest(part) : []
    const address = part.replace(/[.,;:!?)\]}'*_~]+$/, '')
    const href = safeUrl(address)
    return href ? [{ tag: 'a', href, children: [address] }, part.slice(address.length)] : [part]
  })
}

const tags = { '*': 'strong', _: 'em', '~': 's' } as const

/** A mark must touch its text and must not stand inside a word: `2*3*4` and `snake_case_name` stay unchanged. */
function parseMarks(text: string): Part[] {
  const found = /(?<![\p{L}\p{N}])([*_~])(?=\S)([^\n]+?)(?<=\S)\1(?![\p{L}\p{N}])/u.exec(text)
  if (!found) return text ? [text] : []
  const [whole, mark, inside = ''] = found
  return [
    text.slice(0, found.index),
    { tag: tags[mark as keyof typeof tags], children: parseMarks(inside) },
    ...parseMarks(text.slice(found.index + whole.length)),
  ]
}

const plainText = (parts: readonly Part[]): string =>
  parts.map((part) => (typeof part === 'string' ? part : plainText(part.children))).join('')

/** One line without marks, for quotes, lists and screen readers. */
export function summaryOf({ type, text, template, media, location, contacts }: Bubble): string {
  const body = text || template?.body
  if (body) return plainText(parse(body, true)).replace(/\s+/g, ' ').trim()
  const summaries: Record<string, string> = {
    image: 'Picture',
    video: 'Video',
    audio: 'Voice note',
    document: media?.filename || 'Document',
    sticker: 'Sticker',
    location: location?.name || 'Location',
    contacts: contacts?.[0]?.name || 'Contact',
    template: template?.name || 'Template',
  }
  return summaries[type] ?? 'Message'
}

/** One to three emoji without other text are shown large. */
export const isEmojiOnly = (text: string): boolean =>
  /^(?:\p{Extended_Pictographic}(?:\ufe0f|\u200d\p{Extended_Pictographic}|\p{Emoji_Modifier})*\s*){1,3}$/u.test(text)

/** Messages contain addresses that others wrote: only http and https are linked. */
export function safeUrl(address: string | null | undefined): string | undefined {
  const url = address ? URL.parse(address, location.origin) : null
  return url && ['http:', 'https:'].includes(url.protocol) ? url.href : undefined
}

export const timeOf = (at: string | number): string =>
  new Date(at).toLocaleTimeString([], { hour: 'numeric', minute: '2-digit' })

const midnightOf = (date: Date) => new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime()

export function dayOf(at: string): string {
  const day = new Date(at)
  const daysAgo = Math.round((midnightOf(new Date()) - midnightOf(day)) / 86_400_000)
  if (daysAgo === 0) return 'Today'
  if (daysAgo === 1) return 'Yesterday'
  if (daysAgo > 1 && daysAgo < 7) return day.toLocaleDateString([], { weekday: 'long' })
  return day.toLocaleDateString([], { day: 'numeric', month: 'long', year: 'numeric' })
}
