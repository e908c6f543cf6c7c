/** Components that show data, the states of a view without data, and text to copy. */
import { type ReactNode, useEffect, useState } from 'react'
import { Button } from './controls.tsx'
import { Icon, type IconName } from './icon.tsx'
import { useKitWords } from './words.tsx'

export type Tone = 'green' | 'blue' | 'amber' | 'red' | 'accent'

/** A short status label. */
export const Badge = ({ tone, children }: { tone?: Tone | undefined; children: ReactNode }) => (
  <span className="badge" data-tone={tone}>
    {children}
  </span>
)

const hues = [248, 200, 160, 24, 330, 280, 96, 50]

type AvatarProps = { name: string; size?: 'small' | 'large' | undefined }

/** A person's initials on a colour derived from the name. */
export function Avatar({ name, size }: AvatarProps) {
  const hue = hues[[...name].reduce((sum, letter) => sum + (letter.codePointAt(0) ?? 0), 0) % hues.length]
  return (
    <span
      className="avatar"
      data-size={size}
      style={{
        background: `light-dark(hsl(${hue} 70% 92%), hsl(${hue} 35% 24%))`,
        color: `light-dark(hsl(${hue} 65% 27%), hsl(${hue} 80% 86%))`,
      }}
    >
      <span aria-hidden="true">{initialsOf(name)}</span>
    </span>
  )
}

/** The last two digits of a phone number, or the first letters of the first and last word. */
function initialsOf(name: string): string {
  if (/^\+?\d[\d\s]*$/.test(name)) return name.slice(-2)
  const parts = name.split(/\s+/).filter((part) => /[\p{L}\p{N}]/u.test(part))
  const ends = parts.length > 1 ? [parts[0], parts.at(-1)] : [parts[0]]
  const initials = ends.map((part = '') => [...part][0] ?? '').join('')
  return initials.toUpperCase() || '?'
}

type CardProps = { title?: ReactNode; actions?: ReactNode; children: ReactNode; flush?: boolean }

/** A titled section on a surface of its own. `actions` are at the right of the title; `flush` removes the padding. */
export const Card = ({ title, actions, children, flush = false }: CardProps) => (
  <section className="card">
    {(title || actions) && (
      <div className="card-head">
        <h2>{title}</h2>
        {actions && <div className="row">{actions}</div>}
      </div>
    )}
    {flush ? children : <div className="card-body">{children}</div>}
  </section>
)

type NoteProps = { tone?: Exclude<Tone, 'accent'>; icon?: IconName; children: ReactNode }

const noteIcons = { green: 'check', blue: 'info', amber: 'alert', red: 'alert' } as const

/** A note in the flow of a page or a form. */
export const Note = ({ tone, icon = noteIcons[tone ?? 'blue'], children }: NoteProps) => (
  <div className="note" data-tone={tone}>
    <Icon name={icon} />
    <div>{children}</div>
  </div>
)

/** The error of a form as a whole. An error of one field belongs to its `Field`. */
export const ErrorNote = ({ children }: { children: ReactNode }) => (
  <p className="note" data-tone="red" role="alert">
    {children}
  </p>
)

type ProgressProps = { label: string; total: number; parts: readonly { value: number; color?: string }[] }

/** A progress bar. `parts` are drawn one after the other. */
export const Progress = ({ label, total, parts }: ProgressProps) => (
  <div
    className="progress"
    role="progressbar"
    aria-label={label}
    aria-valuemin={0}
    aria-valuemax={total}
    aria-valuenow={parts.reduce((sum, { value }) => sum + value, 0)}
  >
    {parts.map(({ value, color }, index) => (
      <span
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts keep their order.
        key={index}
        style={{ width: `${total > 0 ? (value / total) * 100 : 0}%`, ...(color ? { background: color } : {}) }}
      />
    ))}
  </div>
)

type EmptyStateProps = {
  icon: IconName
  title: string
  text?: ReactNode
  action?: ReactNode
  /** Red is a failure, which screen readers announce. */
  tone?: 'red'
  /** The page shows nothing else, so the title is its `h1`. */
  isPage?: boolean
}

export const EmptyState = ({ icon, title, text, action, tone, isPage = false }: EmptyStateProps) => (
  <div className="state" data-tone={tone} role={tone && 'alert'}>
    <span className="mark">
      <Icon name={icon} />
    </span>
    {isPage ? <h1>{title}</h1> : <h2>{title}</h2>}
    {text && <p>{text}</p>}
    {action && <div className="row">{action}</div>}
  </div>
)

const widths = ['62%', '88%', '74%', '93%', '55%', '81%']

/** `late` hides it for the first 600 ms, so that a quick start does not flash. */
export function Skeleton({ lines = 6, late = false }: { lines?: number | undefined; late?: boolean }) {
  const words = useKitWords()
  return (
    <div className="skeleton" data-late={late ? '' : undefined} role="status" aria-label={words.loading}>
      {Array.from({ length: lines }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines are interchangeable.
        <span key={index} style={{ width: widths[index % widths.length] }} />
      ))}
    </div>
  )
}

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
      label={<span aria-live="polite">{isCopied ? words.copied : (label ?? words.copy)}</span>}
      size={size}
      icon={isCopied ? 'check' : 'copy'}
      onClick={() => copyText(text).then(() => setCopied(true))}
    />
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

/** A text in one line with a button that copies it. `label`: of the button. */
export const Secret = ({ text, label }: { text: string; label?: string }) => (
  <div className="secret">
    <code>{text}</code>
    <CopyButton text={text} size="small" {...(label ? { label } : {})} />
  </div>
)

export const Code = ({ text }: { text: string }) => (
  <div className="codeblock">
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it. */}
    <pre tabIndex={0}>{text}</pre>
    <CopyButton text={text} size="small" />
  </div>
)
