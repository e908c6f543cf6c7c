/** The table of a report with rows: sorted by any column, with a last row for all. */
import type { ReactNode } from 'react'
import { Select } from '../../../ui/controls.tsx'
import { Card } from '../../../ui/display.tsx'
import { useSearchParam } from '../lib/hooks.ts'
import { type Column, Table } from '../ui/table.tsx'
import { reportWords } from '../words/reports.ts'

export type RowColumn<Row> = {
  key: string
  label: string
  /** By what the column sorts. Rows without a value are last. */
  valueOf: (row: Row) => number | null
  cell: (row: Row) => ReactNode
}

type Props<Row> = {
  title: string
  actions?: ReactNode
  /** The head of the first column. */
  name: string
  rows: readonly Row[]
  keyOf: (row: Row) => string
  /** As text, for the order. */
  textOf: (row: Row) => string
  nameCell: (row: Row) => ReactNode
  columns: readonly RowColumn<Row>[]
  /** The column that sorts by default, the highest first. */
  usual: string
  /** The row of all. */
  all?: Row
}

const nameKey = 'name'

export function RowTable<Row>(props: Props<Row>) {
  const { title, actions, name, rows, keyOf, textOf, nameCell, columns, usual, all } = props
  const [orderInUrl, setOrder] = useSearchParam('order')
  const isReversed = orderInUrl.startsWith('-')
  const wanted = orderInUrl.replace(/^-/, '')
  const key = wanted === nameKey || columns.some((each) => each.key === wanted) ? wanted : usual
  const column = columns.find((each) => each.key === key)
  // Names ascend by default, figures descend.
  const isAscending = (key === nameKey) !== isReversed
  const choose = (next: string) => setOrder(next === key && !isReversed ? `-${next}` : next === usual ? '' : next)
  const sorted = rows.toSorted((one, other) => {
    const byName = textOf(one).localeCompare(textOf(other))
    if (!column) return isAscending ? byName : -byName
    const [a, b] = [column.valueOf(one), column.valueOf(other)]
    if (a === null || b === null) return Number(a === null) - Number(b === null) || byName
    return (isAscending ? a - b : b - a) || byName
  })
  const sortOf = (of: string) => ({
    direction: of === key ? (isAscending ? ('ascending' as const) : ('descending' as const)) : undefined,
    onSort: () => choose(of),
  })
  const shown: Column<Row>[] = [
    { label: name, cell: nameCell, sort: sortOf(nameKey), className: 'reports-name' },
    ...columns.map(({ key: of, label, cell }) => ({ label, cell, sort: sortOf(of), className: 'end' })),
  ]
  return (
    <Card
      flush
      title={title}
      actions={
        <>
          <span className="reports-order">
            <Select
              aria-label={reportWords.rows.sort}
              value={key}
              options={[{ key: nameKey, label: name }, ...columns].map(
                (each) => [each.key, reportWords.rows.sortBy(each.label)] as const,
              )}
              onChange={({ target }) => setOrder(target.value === usual ? '' : target.value)}
            />
          </span>
          {actions && <span className="reports-by">{actions}</span>}
        </>
      }
    >
      <Table
        className="reports-rows"
        label={title}
        rows={all === undefined ? sorted : [...sorted, all]}
        keyOf={(row) => (row === all ? 'all' : keyOf(row))}
        columns={shown}
        rowProps={(row) => (row === all ? { 'data-all': '' } : {})}
      />
    </Card>
  )
}
