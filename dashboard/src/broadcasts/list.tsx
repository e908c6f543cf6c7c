/** The list of broadcasts, newest first, with live progress. */
import { Link } from 'wouter'
import { SegmentedControl } from '../../../ui/controls.tsx'
import { EmptyState } from '../../../ui/display.tsx'
import { usePages } from '../lib/api.ts'
import { useSearchParam } from '../lib/hooks.ts'
import { useCanWrite } from '../lib/session.tsx'
import { formatNumber, formatShare, formatTime } from '../lib/time.ts'
import { LinkButton } from '../ui/link-button.tsx'
import { LoadMore, Page, QueryState, ViewerNote } from '../ui/page.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { words } from '../words/words.ts'
import { attemptedCount, Bar, type Broadcast, StateBadge, unconfirmedCount } from './status.tsx'

const { broadcasts: text } = words
const statuses = ['draft', 'scheduled', 'sending', 'paused', 'sent', 'canceled'] as const

export function BroadcastList() {
  const [statusInUrl, setStatus] = useSearchParam('status')
  const status = statuses.find((each) => each === statusInUrl)
  // Paused is a flag of its own: a paused broadcast keeps its status.
  const query = status === 'paused' ? ({ is_paused: 'true' } as const) : status && { status }
  const pages = usePages('GET /broadcasts', query ? { query } : {}, { live: true })
  const isEmpty = pages.isSuccess && pages.items.length === 0
  const create = useCanWrite() && (
    <LinkButton label={text.create} variant="primary" icon="plus" href="/broadcasts/new" />
  )
  return (
    <Page title={text.title} lead={text.lead} actions={create}>
      <ViewerNote />
      <div className="broadcasts-filter">
        <SegmentedControl
          label={text.filter}
          value={status ?? ''}
          options={[
            { value: '', label: words.common.all },
            ...statuses.map((value) => ({ value, label: text.statuses[value] })),
          ]}
          onChange={setStatus}
        />
      </div>
      {!pages.data && <QueryState query={pages} />}
      {isEmpty && status && <EmptyState icon="broadcasts" title={text.nothing} text={text.nothingText} />}
      {isEmpty && !status && <EmptyState icon="broadcasts" title={text.empty} text={text.emptyText} action={create} />}
      {pages.items.length > 0 && (
        <div className="card">
          <Table isLinked rows={pages.items} keyOf={({ id }) => id} columns={columns} />
          <LoadMore pages={pages} />
        </div>
      )}
    </Page>
  )
}

const columns: Column<Broadcast>[] = [
  {
    label: text.columns.name,
    cell: ({ id, name, template }) => (
      <div className="column">
        <Link className="row-link" href={`/broadcasts/${id}`}>
          {name}
        </Link>
        <span className="soft small">{template.name}</span>
      </div>
    ),
  },
  { label: text.columns.status, cell: (broadcast) => <State broadcast={broadcast} /> },
  {
    label: text.columns.recipients,
    className: 'end',
    cellClassName: 'numeric',
    cell: ({ total_count: total, status }) =>
      total === 0 && status === 'scheduled' ? text.atStart : formatNumber(total),
  },
  shareColumn(text.columns.delivered, ({ delivered_count }) => delivered_count),
  shareColumn(text.columns.read, ({ read_count }) => read_count),
  { label: text.columns.when, cellClassName: 'soft', cell: whenOf },
]

function shareColumn(label: string, countOf: (broadcast: Broadcast) => number): Column<Broadcast> {
  return {
    label,
    className: 'end',
    cellClassName: 'numeric broadcasts-share',
    cellProps: (broadcast) => ({ 'data-unknown': attemptedCount(broadcast) === 0 ? '' : undefined }),
    cell: (broadcast) => {
      const attempted = attemptedCount(broadcast)
      return attempted > 0 ? formatShare(countOf(broadcast), attempted) : text.none
    },
  }
}

function State({ broadcast }: { broadcast: Broadcast }) {
  const { status, total_count: total, pending_count: pending } = broadcast
  const awaiting = unconfirmedCount(broadcast)
  return (
    <div className="stack broadcasts-state">
      <StateBadge broadcast={broadcast} />
      {status === 'sending' && total > 0 && (
        <>
          <Bar broadcast={broadcast} />
          <span className="soft small numeric">{text.done(formatNumber(total - pending), formatNumber(total))}</span>
        </>
      )}
      {awaiting > 0 && <span className="soft small">{text.awaiting(awaiting)}</span>}
    </div>
  )
}

function whenOf({ status, scheduled_at, started_at, created_at }: Broadcast): string {
  if (status === 'scheduled' && scheduled_at) return text.when.scheduled(formatTime(scheduled_at))
  return started_at ? text.when.started(formatTime(started_at)) : text.when.created(formatTime(created_at))
}
