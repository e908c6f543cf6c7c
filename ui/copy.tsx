/** Text to copy: a button, a secret, a block of code. */
import { useEffect, useState } from 'react'
import { Button } from './button.tsx'
import { useKitWords } from './words.tsx'

const confirmationMs = 2_000

export function CopyButton({ text, label, size }: { text: string; label?: string; size?: 'small' }) {
  const words = useKitWords()
  const [isCopied, setCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return
    const timer = setTimeout(() => setCopied(false), confirmationMs)
    return () => clearTimeout(timer)
  }, [isCopied])
  return (
    <Button
      {...(size ? { size } : {})}
      icon={isCopied ? 'check' : 'copy'}
      onClick={() => copyText(text).then(() => setCopied(true))}
    >
      <span aria-live="polite">{isCopied ? words.copied : (label ?? words.copy)}</span>
    </Button>
  )
}

/** Browsers offer the clipboard API on HTTPS and localhost only. Elsewhere the older command does it. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  // Outside an open dialog the page is inert, and a selection there copies nothing.
  ;(document.querySelector('dialog[open]') ?? document.body).append(area)
  area.select()
  document.execCommand('copy')
  area.remove()
}

export function Secret({ text }: { text: string }) {
  return (
    <div className="secret">
      <code>{text}</code>
      <CopyButton text={text} size="small" />
    </div>
  )
}

export function Code({ text }: { text: string }) {
  return (
    <div className="codeblock">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it. */}
      <pre tabIndex={0}>{text}</pre>
      <CopyButton text={text} size="small" />
    </div>
  )
}
