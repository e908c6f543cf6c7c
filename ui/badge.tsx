/** A short status label. */
import type { ReactNode } from 'react'

export type Tone = 'green' | 'blue' | 'amber' | 'red' | 'accent'

export function Badge({ tone, children }: { tone?: Tone | undefined; children: ReactNode }) {
  return (
    <span className="badge" data-tone={tone}>
      {children}
    </span>
  )
}
