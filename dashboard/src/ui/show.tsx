/** Small things that show something: badges, tags, people, times, code. */
import { type ReactNode, useEffect, useState } from 'react'
import { formatAgo, formatTime } from '../lib/time.ts'
import { words } from '../words/words.ts'
import { Button } from './button.tsx'
import { Icon, type IconName } from './icon.tsx'

export type Tone = 'green' | 'blue' | 'amber' | 'red' | 'accent'

export function Badge({ tone, children }: { tone?: Tone | undefined; children: ReactNode }) {
  return (
    <span className="badge" data-tone={tone}>
      {children}
    </span>
  )
}

/** A tag of a contact; with `onRemove` it can be taken off. */
export function Tag({ name, color, onRemove }: { name: string; color: string; onRemove?: (() => void) | undefined }) {
  return (
    <span className="tag">
      <span className="swatch" style={{ background: color }} />
      <span className="cut">{name}</span>
      {onRemove && (
        <button type="button" aria-label={words.common.removeTag(name)} onClick={onRemove}>
          <Icon name="close" />
        </button>
      )}
    </span>
  )
}

export type ChannelName = 'msgapp' | 'social' | 'web'

const channelIcons: Record<ChannelName, IconName> = { msgapp: 'phone', social: 'heart', web: 'globe' }

export function ChannelMark({ channel }: { channel: ChannelName }) {
  return (
    <span className="channel" data-channel={channel} title={words.channels[channel]}>
      <Icon name={channelIcons[channel]} />
      <span className="offscreen">{words.channels[channel]}</span>
    </span>
  )
}

const hues = [248, 200, 160, 24, 330, 280, 96, 50]

/** Initials on a colour that stays the same for the same name; with the channel they write on. */
export function Avatar({ name, channel, size }: { name: string; channel?: ChannelName; size?: 'small' | 'large' }) {
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
      {channel && <ChannelMark channel={channel} />}
    </span>
  )
}

function initialsOf(name: string): string {
  const parts = name.split(/\s+/).filter((part) => /[\p{L}\p{N}]/u.test(part))
  if (/^\+?\d[\d\s]*$/.test(name)) return name.slice(-2)
  return (
    [parts[0], parts.length > 1 ? parts.at(-1) : undefined]
      .map((part) => [...(part ?? '')][0] ?? '')
      .join('')
      .toUpperCase() || '?'
  )
}

/** "5 min ago", kept true; the whole date and time in its tooltip. */
export function Ago({ at }: { at: string }) {
  const [now, setNow] = useState(Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 30_000)
    return () => clearInterval(timer)
  }, [])
  return (
    <time dateTime={at} title={formatTime(at)} className="nowrap">
      {formatAgo(at, now)}
    </time>
  )
}

export function CopyButton({
  text,
  label = words.common.copy,
  size,
}: {
  text: string
  label?: string
  size?: 'small'
}) {
  const [isCopied, setCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return
    const timer = setTimeout(() => setCopied(false), 2_000)
    return () => clearTimeout(timer)
  }, [isCopied])
  return (
    <Button
      {...(size ? { size } : {})}
      icon={isCopied ? 'check' : 'copy'}
      onClick={() => copy(text).then(() => setCopied(true))}
    >
      <span aria-live="polite">{isCopied ? words.common.copied : label}</span>
    </Button>
  )
}

/** Without https browsers keep the clipboard to themselves: then as it was done before. */
async function copy(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  ;(document.querySelector('dialog[open]') ?? document.body).append(area)
  area.select()
  document.execCommand('copy')
  area.remove()
}

/** Something to be kept, shown once. */
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

/** How far something has got; `parts` lie one after the other. */
export function Progress({
  label,
  total,
  parts,
}: {
  label: string
  total: number
  parts: readonly { value: number; color?: string }[]
}) {
  const done = parts.reduce((sum, { value }) => sum + value, 0)
  return (
    <div
      className="progress"
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={total}
      aria-valuenow={done}
    >
      {parts.map(({ value, color }, place) => (
        <span
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts keep their places.
          key={place}
          style={{ width: `${total > 0 ? (value / total) * 100 : 0}%`, ...(color ? { background: color } : {}) }}
        />
      ))}
    </div>
  )
}

export function Note({
  tone,
  icon = 'info',
  children,
}: {
  tone?: Exclude<Tone, 'accent'>
  icon?: IconName
  children: ReactNode
}) {
  return (
    <div className="note" data-tone={tone}>
      <Icon name={icon} />
      <div>{children}</div>
    </div>
  )
}

/** What a form was refused for, where it is about no field of it. */
export function FaultNote({ children }: { children: ReactNode }) {
  return (
    <p className="note" data-tone="red" role="alert">
      {children}
    </p>
  )
}
