/**
 * The text of a message: links to the web can be followed, the messaging app's marks (*bold*, _italic_) are shown, and one to
 * three emoji alone are drawn large. Nothing becomes HTML.
 */
import type { ReactNode } from 'react'
import { format } from '../templates/formatted.tsx'
import { webUrl } from './read.ts'

/** One to three emoji, each perhaps made of several: drawn large. Only a short text is looked at, since the expression may take its time. */
const emojiOnly =
  /^(?:\p{Extended_Pictographic}(?:\p{M}|\u200d|\ufe0f|\p{Emoji_Modifier}|\p{Extended_Pictographic})*\s*){1,3}$/u

const maxEmojiLength = 40

export function Text({ text }: { text: string | null }) {
  if (!text) return null
  return (
    <p
      className="inbox-text"
      data-emoji={text.length <= maxEmojiLength && emojiOnly.test(text) ? '' : undefined}
      dir="auto"
    >
      <Linked text={text} />
    </p>
  )
}

const link = /https?:\/\/[^\s<>"'`]+/giu

function Linked({ text }: { text: string }) {
  const parts: ReactNode[] = []
  let end = 0
  for (const { 0: found, index } of text.matchAll(link)) {
    const shown = withoutTail(found)
    const url = webUrl(shown)
    if (!url) continue
    parts.push(
      ...formatted(text.slice(end, index), end),
      <a key={index} href={url} target="_blank" rel="noopener noreferrer nofollow">
        {shown}
      </a>,
    )
    end = index + shown.length
  }
  return (
    <>
      {parts}
      {formatted(text.slice(end), end)}
    </>
  )
}

const formatted = (text: string, at: number): ReactNode[] => format(text, (part) => [part], `${at}.`)

/** The full stop behind a link is no part of it, nor is a bracket that was opened before it. */
function withoutTail(found: string): string {
  const bare = found.replace(/[.,;:!?…]+$/u, '')
  const isUnopened = bare.endsWith(')') && !bare.includes('(')
  return isUnopened ? bare.slice(0, -1) : bare
}
