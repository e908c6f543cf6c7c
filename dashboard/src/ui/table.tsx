/** The table of a list. On a narrow window each row is a block, and its cells have the names of their columns. */
import type { ComponentProps, ReactNode } from 'react'
import { Link, useLocation, useSearch } from 'wouter'

export type Column<Row> = {
  label: string
  /** Only screen readers get the label: for buttons. */
  isLabelHidden?: boolean
  /** Of the head and the cells. */
  className?: string
  cellClassName?: string
  /** On a narrow window: beside the name in the first line, or without its label. By default the label is before the value. */
  narrow?: 'status' | 'plain'
  cell: (row: Row) => ReactNode
  /** The head is a button that sorts by this column. */
  sort?: { direction: 'ascending' | 'descending' | undefined; onSort: () => void }
  /** Other attributes of the cell. */
  cellProps?: (
    row: Row,
  ) => ComponentProps<'td'> & { 'data-label'?: string | undefined; 'data-unknown'?: '' | undefined }
}

type Props<Row> = {
  rows: readonly Row[]
  keyOf: (row: Row) => string | number
  /** Absent ones are false. */
  columns: readonly (Column<Row> | false)[]
  label?: string
  className?: string
  isBusy?: boolean
  /** The rows contain a link (`row-link`), which a click anywhere in the row opens. They are compact. */
  isLinked?: boolean
  /** On a narrow window a row has two lines. Cells of the class `minor` are hidden. */
  isCompact?: boolean
  rowProps?: (row: Row) => ComponentProps<'tr'> & Record<`data-${string}`, string | undefined>
}

export function Table<Row>(props: Props<Row>) {
  const { rows, keyOf, columns, label, className, isBusy, isLinked = false, isCompact = isLinked, rowProps } = props
  const shown = columns.filter((column) => column !== false)
  return (
    <table className={joined('table', className)} aria-label={label} aria-busy={isBusy}>
      <thead>
        <tr>
          {shown.map((column) => (
            <th key={column.label} scope="col" className={column.className} aria-sort={column.sort?.direction}>
              <Head column={column} />
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr
            key={keyOf(row)}
            data-link={isLinked ? '' : undefined}
            data-compact={isCompact ? '' : undefined}
            {...rowProps?.(row)}
          >
            {shown.map((column, index) => (
              <td
                key={column.label}
                className={joined(column.className, column.cellClassName)}
                data-narrow={column.narrow}
                data-label={index === 0 || column.isLabelHidden || column.narrow ? undefined : column.label}
                {...column.cellProps?.(row)}
              >
                {column.cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function Head<Row>({ column: { label, isLabelHidden, sort } }: { column: Column<Row> }) {
  if (isLabelHidden) return <span className="offscreen">{label}</span>
  if (!sort) return label
  return (
    <button type="button" className="table-sort" onClick={sort.onSort}>
      {label}
      <span aria-hidden="true">
        {sort.direction === 'ascending' ? '↑' : sort.direction === 'descending' ? '↓' : '↕'}
      </span>
    </button>
  )
}

const joined = (...names: (string | undefined)[]): string | undefined => names.filter(Boolean).join(' ') || undefined

type RowLinkProps = { param: string; id: string; className?: string; title?: string; children: ReactNode }

/** The link of a row that opens its details. A parameter of the URL names the row. */
export function RowLink({ param, id, className = '', children, ...props }: RowLinkProps) {
  const [path] = useLocation()
  const search = new URLSearchParams(useSearch())
  const isOpen = search.get(param) === id
  search.set(param, id)
  return (
    <Link
      {...props}
      href={`${path}?${search}`}
      className={`row-link mono ${className}`.trim()}
      aria-current={isOpen ? 'true' : undefined}
    >
      {children}
    </Link>
  )
}
