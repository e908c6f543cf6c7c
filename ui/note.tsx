/** Notes in the flow of a page or a form. */
import type { ReactNode } from 'react'
import type { Tone } from './badge.tsx'
import { Icon, type IconName } from './icon.tsx'

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

/** The error of a form as a whole. An error of one field belongs to its `Field`. */
export function ErrorNote({ children }: { children: ReactNode }) {
  return (
    <p className="note" data-tone="red" role="alert">
      {children}
    </p>
  )
}
