/** What people wrote, with its links to be followed: only the web's, and never as HTML. A few emoji are drawn large. */
import type { ReactNode } from 'react'
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
      text.slice(end, index),
      <a key={index} href={url} target="_blank" rel="noopener noreferrer nofollow">
        {shown}
      </a>,
    )
    end = index + shown.length
  }
  return (
    <>
      {parts}
      {text.slice(end)}
    </>
  )
}

/** The full stop behind a link is no part of it, nor is a bracket that was opened before it. */
function withoutTail(found: string): string {
  const bare = found.replace(/[.,;:!?…]+$/u, '')
  const isUnopened = bare.endsWith(')') && !bare.includes('(')
  return isUnopened ? bare.slice(0, -1) : bare
}
