/** The list of segments. The contacts of a segment are counted when its row becomes visible, because counting is expensive. */
import { Link } from 'wouter'
import { SegmentedControl } from '../../../ui/controls.tsx'
import { Badge, EmptyState } from '../../../ui/display.tsx'
import { type ItemOf, useCall, usePages } from '../lib/api.ts'
import { useSearchParam } from '../lib/hooks.ts'
import { useCanWrite } from '../lib/session.tsx'
import { LinkButton } from '../ui/link-button.tsx'
import { Page, PagedList, ViewerNote } from '../ui/page.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { RelativeTime } from '../ui/time.tsx'
import { words } from '../words/words.ts'
import { useFilterText } from './describe.ts'

const { segments } = words
const kinds = ['dynamic', 'static'] as const

export function SegmentList() {
  const [chosen, choose] = useSearchParam('kind')
  const kind = kinds.find((each) => each === chosen)
  const pages = usePages('GET /segments', { query: kind ? { kind } : {} }, { keepPrevious: true })
  const create = useCanWrite() && <LinkButton label={segments.new} variant="primary" icon="plus" href="/segments/new" />
  return (
    <Page title={segments.title} lead={segments.lead} actions={create}>
      <ViewerNote />
      <div className="row toolbar">
        <SegmentedControl
          label={segments.kind}
          value={kind ?? ''}
          options={[
            { value: '', label: segments.all },
            ...kinds.map((value) => ({ value, label: segments.kinds[value] })),
          ]}
          onChange={choose}
        />
      </div>
      <div className="card">
        <PagedList
          pages={pages}
          empty={<EmptyState icon="segments" title={segments.none} text={segments.noneText} action={create} />}
        >
          {(rows) => (
            <Table
              className="table-text segments-table"
              isLinked
              rows={rows}
              keyOf={({ id }) => id}
              columns={columns}
            />
          )}
        </PagedList>
      </div>
    </Page>
  )
}

type Segment = ItemOf<'GET /segments'>

const columns: Column<Segment>[] = [
  { label: segments.name, cell: (segment) => <Name segment={segment} /> },
  {
    label: segments.kind,
    narrow: 'status',
    cell: ({ kind }) => <Badge tone={kind === 'dynamic' ? 'accent' : undefined}>{segments.kinds[kind]}</Badge>,
  },
  { label: segments.size, className: 'end', cellClassName: 'numeric', cell: ({ id }) => <Size id={id} /> },
  {
    label: segments.updated,
    className: 'end',
    cellClassName: 'soft',
    cell: ({ updated_at }) => <RelativeTime at={updated_at} />,
  },
]

function Name({ segment: { id, name, description, color, filter } }: { segment: Segment }) {
  const describe = useFilterText()
  const about = description ?? (filter ? describe(filter) : '')
  return (
    <span className="line segments-name">
      <span className="segments-swatch" style={{ background: color }} />
      <span className="grow table-name">
        <Link href={`/segments/${id}`} className="row-link">
          {name}
        </Link>
        {about && <span className="soft small segments-about">{about}</span>}
      </span>
    </span>
  )
}

function Size({ id }: { id: string }) {
  const counted = useCall('GET /segments/{id}', { params: { id } })
  return counted.data ? counted.data.member_count.toLocaleString() : counted.error ? '?' : '…'
}
