/** A person's initials on a colour derived from the name. `children` go on its corner. */
import type { ReactNode } from 'react'

const hues = [248, 200, 160, 24, 330, 280, 96, 50]

export function Avatar({
  name,
  size,
  children,
}: {
  name: string
  size?: 'small' | 'large' | undefined
  children?: ReactNode
}) {
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
      {children}
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
