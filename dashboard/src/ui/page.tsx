/** The frame of a page, and the states of its queries. */
import type { ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import { Button } from '../../../ui/button.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { EmptyState, Skeleton } from '../../../ui/state.tsx'
import { describeError, isNotFound } from '../lib/api.ts'
import { useTitle } from '../lib/title.ts'
import { words } from '../words/words.ts'

type PageProps = {
  title: string
  lead?: ReactNode
  back?: { href: string; label: string }
  actions?: ReactNode
  narrow?: boolean
  children: ReactNode
}

export function Page({ title, lead, back, actions, narrow = false, children }: PageProps) {
  useTitle(title)
  return (
    <div className="page" data-narrow={narrow ? '' : undefined}>
      <div className="page-head">
        <div>
          {back && (
            <Link href={back.href} className="back">
              <Icon name="back" />
              {back.label}
            </Link>
          )}
          <h1>{title}</h1>
          {lead && <p className="lead">{lead}</p>}
        </div>
        {actions && <div className="row">{actions}</div>}
      </div>
      {children}
    </div>
  )
}

export function Tabs({ label, items }: { label: string; items: readonly { href: string; label: string }[] }) {
  const [path] = useLocation()
  return (
    <nav className="tabs" aria-label={label}>
      {items.map(({ href, label }) => (
        <Link key={href} href={href} aria-current={path === href || path.startsWith(`${href}/`) ? 'page' : undefined}>
          {label}
        </Link>
      ))}
    </nav>
  )
}

export function ErrorState({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const retry = onRetry && (
    <Button icon="refresh" onClick={onRetry}>
      {words.common.again}
    </Button>
  )
  return (
    <EmptyState tone="red" icon="alert" title={words.common.failed} action={retry}>
      {describeError(error)}
    </EmptyState>
  )
}

type QueryState<Data> = { data: Data | undefined; error: unknown; refetch: () => unknown }

/** Shows a query: a skeleton while it loads, the error with a retry button, or its data. `notFound`: instead of the error 404. */
export function QueryView<Data>({
  query,
  lines,
  notFound,
  children,
}: {
  query: QueryState<Data>
  lines?: number
  notFound?: ReactNode
  children: (data: Data) => ReactNode
}) {
  if (notFound && isNotFound(query.error)) return notFound
  if (query.data !== undefined) return children(query.data)
  if (query.error) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  return <Skeleton {...(lines ? { lines } : {})} />
}
