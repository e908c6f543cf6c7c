/** The frame of a page, and what it shows when there is nothing yet, nothing at all, or something went wrong. */
import { type ReactNode, useEffect } from 'react'
import { Link, useLocation } from 'wouter'
import { messageOf } from '../lib/api.ts'
import { words } from '../words/words.ts'
import { Button } from './button.tsx'
import { Icon, type IconName } from './icon.tsx'

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

/** What the tab of the browser says. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Parley`
  }, [title])
}

/** `actions` go to the right of the title. */
export function Card({
  title,
  actions,
  children,
  flush = false,
}: {
  title?: ReactNode
  actions?: ReactNode
  children: ReactNode
  flush?: boolean
}) {
  return (
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

export function Empty({
  icon,
  title,
  children,
  action,
  isPage = false,
}: {
  icon: IconName
  title: string
  children?: ReactNode
  action?: ReactNode
  /** It is all the page says. */
  isPage?: boolean
}) {
  return (
    <div className="state">
      <span className="mark">
        <Icon name={icon} />
      </span>
      {isPage ? <h1>{title}</h1> : <h2>{title}</h2>}
      {children && <p>{children}</p>}
      {action && <div className="row">{action}</div>}
    </div>
  )
}

export function Failure({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  return (
    <div className="state" data-tone="red" role="alert">
      <span className="mark">
        <Icon name="alert" />
      </span>
      <h2>{words.common.failed}</h2>
      <p>{messageOf(error)}</p>
      {onRetry && (
        <div className="row">
          <Button icon="refresh" onClick={onRetry}>
            {words.common.again}
          </Button>
        </div>
      )}
    </div>
  )
}

const widths = ['62%', '88%', '74%', '93%', '55%', '81%']

/** `late`: shown only if loading takes a while, so that an ordinary start does not flash. */
export function Skeleton({ lines = 6, late = false }: { lines?: number; late?: boolean }) {
  return (
    <div className="skeleton" data-late={late ? '' : undefined} role="status" aria-label={words.common.loading}>
      {Array.from({ length: lines }, (_, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all alike.
        <span key={place} style={{ width: widths[place % widths.length] }} />
      ))}
    </div>
  )
}

type QueryState<Data> = { data: Data | undefined; error: unknown; refetch: () => unknown }

/** What a page shows of a question it asked: the bones, the fault with a way out, or what was answered. */
export function Asked<Data>({
  query,
  lines,
  children,
}: {
  query: QueryState<Data>
  lines?: number
  children: (data: Data) => ReactNode
}) {
  if (query.data !== undefined) return children(query.data)
  if (query.error) return <Failure error={query.error} onRetry={() => void query.refetch()} />
  return <Skeleton {...(lines ? { lines } : {})} />
}
