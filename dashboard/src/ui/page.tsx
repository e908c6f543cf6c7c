/** The frame of a page, the states of its queries and lists, and what a viewer sees of the controls that change data. */
import { type ReactNode, useEffect, useRef } from 'react'
import { Link, Route, type RouteProps, useLocation } from 'wouter'
import { Button } from '../../../ui/controls.tsx'
import { EmptyState, Note, Skeleton } from '../../../ui/display.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { describeError, isNotFound, isRefused } from '../lib/api.ts'
import { useCanWrite } from '../lib/session.tsx'
import { useTitle } from '../lib/title.ts'
import { words } from '../words/words.ts'
import { RowsPlaceholder } from './placeholder.tsx'

type PageProps = {
  title: string
  /** Before the title. */
  mark?: ReactNode
  lead?: ReactNode
  back?: { href: string; label: string }
  actions?: ReactNode
  narrow?: boolean
  children: ReactNode
}

export function Page({ title, mark, lead, back, actions, narrow = false, children }: PageProps) {
  useTitle(title)
  return (
    <div className="stack page" data-narrow={narrow ? '' : undefined}>
      <div className="page-head">
        <div>
          {back && (
            <Link href={back.href} className="back">
              <Icon name="back" />
              {back.label}
            </Link>
          )}
          <div className="page-title">
            {mark}
            <div>
              <h1>{title}</h1>
              {lead && <p className="lead">{lead}</p>}
            </div>
          </div>
        </div>
        {actions && <div className="row">{actions}</div>}
      </div>
      {children}
    </div>
  )
}

type TabItem = {
  href: string
  label: string
  /** Pages below its path belong to other tabs. */
  isExact?: boolean
  /** Of the link, such as filters that the tabs share. */
  search?: string
}

export function Tabs({ label, items }: { label: string; items: readonly TabItem[] }) {
  const [path] = useLocation()
  const tabs = useRef<HTMLElement>(null)
  // On a phone the current tab can be beyond the edge.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the path says which one is current.
  useEffect(() => {
    const current = tabs.current?.querySelector<HTMLElement>('[aria-current]')
    if (current) tabs.current?.scrollTo({ left: current.offsetLeft - tabs.current.offsetLeft - 24 })
  }, [path])
  return (
    <nav ref={tabs} className="tabs" aria-label={label}>
      {items.map(({ href, label, isExact = false, search = '' }) => {
        const isCurrent = path === href || (!isExact && path.startsWith(`${href}/`))
        return (
          <Link key={href} href={href + search} aria-current={isCurrent ? 'page' : undefined}>
            {label}
          </Link>
        )
      })}
    </nav>
  )
}

type QueryStateProps = {
  query: { error: unknown; refetch: () => unknown }
  lines?: number | undefined
  /** Instead of lines, for content of another shape. */
  placeholder?: ReactNode
}

/** A query without data: a skeleton while it loads, or the error with a retry button. What the member may not read is no failure. */
export function QueryState({ query, lines, placeholder }: QueryStateProps) {
  if (!query.error) return placeholder ?? <Skeleton lines={lines} />
  if (isRefused(query.error)) {
    return <EmptyState icon="lock" title={words.common.refused} text={describeError(query.error)} />
  }
  const retry = <Button label={words.common.again} icon="refresh" onClick={() => void query.refetch()} />
  return (
    <EmptyState tone="red" icon="alert" title={words.common.failed} text={describeError(query.error)} action={retry} />
  )
}

type QueryViewProps<Data> = QueryStateProps & {
  query: { data: Data | undefined }
  notFound?: ReactNode
  children: (data: Data) => ReactNode
}

/** A query: its data, or the state without. `notFound`: instead of the error 404. */
export function QueryView<Data>({ query, lines, placeholder, notFound, children }: QueryViewProps<Data>) {
  if (notFound && isNotFound(query.error)) return notFound
  return query.data !== undefined ? (
    children(query.data)
  ) : (
    <QueryState query={query} lines={lines} placeholder={placeholder} />
  )
}

type MorePages = { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown }

/** The end of a paged list: fetches the next page when it scrolls into view or its button is pressed. */
export function LoadMore({ pages }: { pages: MorePages }) {
  const ref = useRef<HTMLDivElement>(null)
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = pages
  useEffect(() => {
    const end = ref.current
    if (!end || !hasNextPage || isFetchingNextPage) return
    // A busy browser reports several changes at once: the last one is how it is now.
    const observer = new IntersectionObserver((entries) => entries.at(-1)?.isIntersecting && fetchNextPage(), {
      rootMargin: '400px',
    })
    observer.observe(end)
    return () => observer.disconnect()
  }, [hasNextPage, isFetchingNextPage, fetchNextPage])
  if (!hasNextPage) return null
  return (
    <div ref={ref} className="row" style={{ justifyContent: 'center', padding: '0.75rem' }}>
      <Button label={words.common.more} busy={isFetchingNextPage} onClick={() => fetchNextPage()} />
    </div>
  )
}

/** The result of `usePages`. */
export type Pages<Item> = MorePages & {
  items: readonly Item[]
  data: unknown
  error: unknown
  refetch: () => unknown
}

type PagedListProps<Item> = {
  pages: Pages<Item>
  empty: ReactNode
  lines?: number
  children: (items: readonly Item[]) => ReactNode
}

/** A list page by page: its states, and the end that loads more. A page can be empty although older ones match: the next ones load then. */
export function PagedList<Item>({ pages, empty, lines = 6, children }: PagedListProps<Item>) {
  const isEmpty = pages.items.length === 0
  return (
    <QueryView query={pages} placeholder={<RowsPlaceholder count={lines} />}>
      {() => (
        <>
          {!isEmpty && children(pages.items)}
          {isEmpty && !pages.hasNextPage && empty}
          {isEmpty && pages.hasNextPage && <p className="soft searching">{words.common.searching}</p>}
          <LoadMore pages={pages} />
        </>
      )}
    </QueryView>
  )
}

/** Disables all form controls inside for a viewer. Links still work. */
export const WriteAccess = ({ children }: { children: ReactNode }) => (
  <fieldset className="write-access" disabled={!useCanWrite()}>
    {children}
  </fieldset>
)

/** A note for viewers. Other members see nothing. */
export const ViewerNote = () => (useCanWrite() ? null : <Note icon="lock">{words.common.viewerOnly}</Note>)

/** The route of a page that only changes something. A viewer sees the reason instead. */
export function WriterRoute<Path extends string>(props: RouteProps<undefined, Path>) {
  if (useCanWrite()) return <Route<undefined, Path> {...props} />
  return <EmptyState icon="lock" title={words.common.viewerTitle} text={words.common.viewerOnly} />
}
