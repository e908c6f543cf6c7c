/** The states of a view without data: empty, failed, loading. */
import type { ReactNode } from 'react'
import { Icon, type IconName } from './icon.tsx'
import { useKitWords } from './words.tsx'

export function EmptyState({
  icon,
  title,
  children,
  action,
  tone,
  isPage = false,
}: {
  icon: IconName
  title: string
  children?: ReactNode
  action?: ReactNode
  /** Red is a failure, which screen readers announce. */
  tone?: 'red'
  /** The page shows nothing else, so the title is its `h1`. */
  isPage?: boolean
}) {
  return (
    <div className="state" data-tone={tone} role={tone && 'alert'}>
      <span className="mark">
        <Icon name={icon} />
      </span>
      {isPage ? <h1>{title}</h1> : <h2>{title}</h2>}
      {children && <p>{children}</p>}
      {action && <div className="row">{action}</div>}
    </div>
  )
}

const widths = ['62%', '88%', '74%', '93%', '55%', '81%']

/** `late` hides it for the first 600 ms, so that a quick start does not flash. */
export function Skeleton({ lines = 6, late = false }: { lines?: number; late?: boolean }) {
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
