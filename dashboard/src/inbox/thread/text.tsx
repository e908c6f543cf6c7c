/**
 * The text of a message, with links, the messaging app's formatting (*bold*, _italic_) and one to three emoji shown large.
 * The text is never inserted as HTML.
 */
import { createContext, type ReactNode, useContext } from 'react'
import { format } from '../../templates/formatted-text.tsx'
import { webUrl } from './parse-content.ts'

/** One to three emoji, each possibly a sequence. Tested on short texts only, because the expression can backtrack. */
const emojiOnly =
  /^(?:\p{Extended_Pictographic}(?:\p{M}|\u200d|\ufe0f|\p{Emoji_Modifier}|\p{Extended_Pictographic})*\s*){1,3}$/u

const maxEmojiLength = 40

/** Whether the channel shows formatting. The social channel shows the marks themselves. */
export const HasFormatting = createContext(true)

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

/** Text with links and formatting, without an element of its own. */
export function Linked({ text }: { text: string }) {
  const hasFormatting = useContext(HasFormatting)
  const formatted = (part: string, at: number): ReactNode[] =>
    hasFormatting ? format(part, (plain) => [plain], `${at}.`) : [part]
  const parts: ReactNode[] = []
  let end = 0
  for (const { 0: match, index } of text.matchAll(link)) {
    const label = trimLink(match)
    const url = webUrl(label)
    if (!url) continue
    parts.push(
      ...formatted(text.slice(end, index), end),
      <a key={index} href={url} target="_blank" rel="noopener noreferrer nofollow">
        {label}
      </a>,
    )
    end = index + label.length
  }
  return (
    <>
      {parts}
      {formatted(text.slice(end), end)}
    </>
  )
}

/** A text in one line with formatting, without links: for quotes and lists. */
export function Preview({ text }: { text: string }) {
  return <>{useContext(HasFormatting) ? format(text, (plain) => [plain]) : text}</>
}

/** Removes punctuation after a link and a closing bracket that was opened before it. */
function trimLink(match: string): string {
  const bare = match.replace(/[.,;:!?…]+$/u, '')
  const isUnopened = bare.endsWith(')') && !bare.includes('(')
  return isUnopened ? bare.slice(0, -1) : bare
}
