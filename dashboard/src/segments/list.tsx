/** The list of segments. The contacts of a segment are counted when its row becomes visible, because counting is expensive. */
import { Link } from 'wouter'
import { Badge } from '../../../ui/badge.tsx'
import { SegmentedControl } from '../../../ui/form.tsx'
import { EmptyState } from '../../../ui/state.tsx'
import { type ItemOf, useCall, usePages } from '../lib/api.ts'
import { useSearchParam } from '../lib/hooks.ts'
import { useCanWrite } from '../lib/session.tsx'
import { LinkButton } from '../ui/link-button.tsx'
import { LoadMore } from '../ui/load-more.tsx'
import { Page, QueryView } from '../ui/page.tsx'
import { RelativeTime } from '../ui/relative-time.tsx'
import { ViewerNote } from '../ui/write-access.tsx'
import { words } from '../words/words.ts'
import { useFilterText } from './describe.ts'

const { segments } = words
const kinds = ['dynamic', 'static'] as const

export function SegmentList() {
  const [chosen, choose] = useSearchParam('kind')
  const kind = kinds.find((each) => each === chosen)
  const pages = usePages('GET /segments', { query: kind ? { kind } : {} }, { keepPrevious: true })
  const create = useCanWrite() && (
    <LinkButton variant="primary" icon="plus" href="/segments/new">
      {segments.new}
    </LinkButton>
  )
  return (
    <Page title={segments.title} lead={segments.lead} actions={create}>
      <ViewerNote />
      <div className="toolbar">
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
        <QueryView query={pages}>
          {() =>
            pages.items.length === 0 ? (
              <EmptyState icon="segments" title={segments.none} action={create}>
                {segments.noneText}
              </EmptyState>
            ) : (
              <table className="table">
                <thead>
                  <tr>
                    <th>{segments.name}</th>
                    <th>{segments.kind}</th>
                    <th className="end">{segments.size}</th>
                    <th className="end">{segments.updated}</th>
                  </tr>
                </thead>
                <tbody>
                  {pages.items.map((segment) => (
                    <Row key={segment.id} segment={segment} />
                  ))}
                </tbody>
              </table>
            )
          }
        </QueryView>
        <LoadMore pages={pages} />
      </div>
    </Page>
  )
}

function Row({
  segment: { id, name, description, color, kind, filter, updated_at: at },
}: {
  segment: ItemOf<'GET /segments'>
}) {
  const counted = useCall('GET /segments/{id}', { params: { id } })
  const describe = useFilterText()
  const about = description ?? (filter ? describe(filter) : '')
  return (
    <tr data-link="">
      <td>
        <span className="segments-name">
          <span className="segments-swatch" style={{ background: color }} />
          <span className="grow">
            <Link href={`/segments/${id}`} className="row-link">
              {name}
            </Link>
            {about && <span className="soft small segments-about">{about}</span>}
          </span>
        </span>
      </td>
      <td data-label={segments.kind}>
        <Badge {...(kind === 'dynamic' ? { tone: 'accent' as const } : {})}>{segments.kinds[kind]}</Badge>
      </td>
      <td className="end numeric" data-label={segments.size}>
        {counted.data ? counted.data.member_count.toLocaleString() : counted.error ? '?' : '…'}
      </td>
      <td className="end soft" data-label={segments.updated}>
        <RelativeTime at={at} />
      </td>
    </tr>
  )
}
