/**
 * A log for developers: filters in the URL, and rows that stay in place while a member reads. New rows are counted behind a button.
 * The details of a row are beside the list.
 */
import { type ReactNode, useEffect } from 'react'
import { Button } from '../../../ui/controls.tsx'
import { Card, EmptyState } from '../../../ui/display.tsx'
import type { IconName } from '../../../ui/icon.tsx'
import { type Steps, useSteps } from '../ui/detail.tsx'
import { DeveloperTabs } from '../ui/developer-tabs.tsx'
import { Page, PagedList, type Pages } from '../ui/page.tsx'
import { type Column, Table } from '../ui/table.tsx'

/** How to fetch the rows and the polled first page. */
export const stillRows = { keepPrevious: true, isStill: true }
export const newestRows = { pollMs: 3_000 }
export const newestLimit = 50

type Texts = Record<
  'title' | 'lead' | 'list' | 'filters' | 'clear' | 'empty' | 'emptyText' | 'noneSuch' | 'noneSuchText',
  string
> & { showNew: (count: number, isMore: boolean) => string }

type Props<Row> = {
  text: Texts
  filters: { isFiltered: boolean; clear: () => void }
  /** The inputs of the filters. */
  controls: ReactNode
  pages: Pages<Row> & { dataUpdatedAt: number }
  /** The first page, polled. */
  newest: { data: readonly Row[] | undefined; dataUpdatedAt: number }
  onShowNew: () => void
  columns: readonly Column<Row>[]
  /** Of a log without rows. */
  icon: IconName
  action: ReactNode
  /** The id of the row whose details are open, or the empty text. */
  open: string
  onOpen: (id: string) => void
  /** The details of the open row. */
  children: (steps: Steps) => ReactNode
}

export function LogPage<Row extends { id: string }>(props: Props<Row>) {
  const { text, filters, controls, pages, newest, onShowNew, columns, icon, action, open, onOpen, children } = props
  const { isFiltered, clear } = filters
  const { count, isMore } = countNew(pages, newest)
  const isEmpty = pages.items.length === 0
  // No row moves if there is none.
  // biome-ignore lint/correctness/useExhaustiveDependencies: `onShowNew` is a new function in each render.
  useEffect(() => {
    if (isEmpty && count > 0) onShowNew()
  }, [isEmpty, count])
  const steps = useSteps(pages, open, onOpen)
  const current = new Map(newest.data?.map((row) => [row.id, row]))
  const empty = isFiltered ? (
    <EmptyState icon="search" title={text.noneSuch} text={text.noneSuchText} />
  ) : (
    <EmptyState icon={icon} title={text.empty} text={text.emptyText} action={action} />
  )
  return (
    <Page title={text.title} lead={text.lead}>
      <DeveloperTabs />
      <search className="row toolbar dev-filters" aria-label={text.filters}>
        {controls}
        {isFiltered && <Button label={text.clear} variant="quiet" icon="close" onClick={clear} />}
      </search>
      <div className="split" data-open={open ? '' : undefined}>
        <Card flush>
          <div aria-live="polite">
            {!isEmpty && count > 0 && (
              <div className="dev-new">
                <Button label={text.showNew(count, isMore)} size="small" icon="refresh" onClick={onShowNew} />
              </div>
            )}
          </div>
          <PagedList pages={pages} empty={empty}>
            {(rows) => (
              <Table
                className="dev-log"
                label={text.list}
                isLinked
                // The state of a row that is shown changes in place.
                rows={rows.map((row) => current.get(row.id) ?? row)}
                keyOf={({ id }) => id}
                columns={columns}
              />
            )}
          </PagedList>
        </Card>
        {open && children(steps)}
      </div>
    </Page>
  )
}

/** The rows of the polled page that are newer than those shown. `isMore`: all of it is new, so there may be more. */
function countNew<Row extends { id: string }>(
  { items, dataUpdatedAt }: Pick<Props<Row>['pages'], 'items' | 'dataUpdatedAt'>,
  newest: Props<Row>['newest'],
): { count: number; isMore: boolean } {
  const [first] = items
  if (!newest.data || newest.dataUpdatedAt < dataUpdatedAt) return { count: 0, isMore: false }
  const position = first ? newest.data.findIndex(({ id }) => id === first.id) : -1
  return position === -1
    ? { count: newest.data.length, isMore: first !== undefined && newest.data.length > 0 }
    : { count: position, isMore: false }
}
