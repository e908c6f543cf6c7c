/** The list of broadcasts, newest first, with live progress. */
import { Link } from 'wouter'
import { SegmentedControl } from '../../../ui/form.tsx'
import { EmptyState, Skeleton } from '../../../ui/state.tsx'
import { usePages } from '../lib/api.ts'
import { useSearchParam } from '../lib/hooks.ts'
import { useCanWrite } from '../lib/session.tsx'
import { formatNumber, formatShare, formatTime } from '../lib/time.ts'
import { LinkButton } from '../ui/link-button.tsx'
import { LoadMore } from '../ui/load-more.tsx'
import { ErrorState, Page } from '../ui/page.tsx'
import { ViewerNote } from '../ui/write-access.tsx'
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
    <LinkButton variant="primary" icon="plus" href="/broadcasts/new">
      {text.create}
    </LinkButton>
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
      {pages.error && !pages.data && <ErrorState error={pages.error} onRetry={() => void pages.refetch()} />}
      {pages.isPending && <Skeleton />}
      {isEmpty && status && (
        <EmptyState icon="broadcasts" title={text.nothing}>
          {text.nothingText}
        </EmptyState>
      )}
      {isEmpty && !status && (
        <EmptyState icon="broadcasts" title={text.empty} action={create}>
          {text.emptyText}
        </EmptyState>
      )}
      {pages.items.length > 0 && (
        <div className="card">
          <table className="table">
            <thead>
              <tr>
                <th>{text.columns.name}</th>
                <th>{text.columns.status}</th>
                <th className="end">{text.columns.recipients}</th>
                <th className="end">{text.columns.delivered}</th>
                <th className="end">{text.columns.read}</th>
                <th>{text.columns.when}</th>
              </tr>
            </thead>
            <tbody>
              {pages.items.map((broadcast) => (
                <Row key={broadcast.id} broadcast={broadcast} />
              ))}
            </tbody>
          </table>
          <LoadMore pages={pages} />
        </div>
      )}
    </Page>
  )
}

function Row({ broadcast }: { broadcast: Broadcast }) {
  const { id, name, template, total_count: total, status, delivered_count, read_count } = broadcast
  const attempted = attemptedCount(broadcast)
  const share = (part: number) => (attempted > 0 ? formatShare(part, attempted) : text.none)
  const unknown = attempted === 0 ? '' : undefined
  const awaiting = unconfirmedCount(broadcast)
  return (
    <tr data-link="">
      <td>
        <div className="broadcasts-name">
          <Link className="row-link" href={`/broadcasts/${id}`}>
            {name}
          </Link>
          <span className="soft small">{template.name}</span>
        </div>
      </td>
      <td data-label={text.columns.status}>
        <div className="broadcasts-state">
          <StateBadge broadcast={broadcast} />
          {status === 'sending' && total > 0 && (
            <>
              <Bar broadcast={broadcast} />
              <span className="soft small numeric">
                {text.done(formatNumber(total - broadcast.pending_count), formatNumber(total))}
              </span>
            </>
          )}
          {awaiting > 0 && <span className="soft small">{text.awaiting(awaiting)}</span>}
        </div>
      </td>
      <td data-label={text.columns.recipients} className="end numeric">
        {total === 0 && status === 'scheduled' ? text.atStart : formatNumber(total)}
      </td>
      <td data-label={text.columns.delivered} className="end numeric broadcasts-share" data-unknown={unknown}>
        {share(delivered_count)}
      </td>
      <td data-label={text.columns.read} className="end numeric broadcasts-share" data-unknown={unknown}>
        {share(read_count)}
      </td>
      <td data-label={text.columns.when} className="soft">
        {whenOf(broadcast)}
      </td>
    </tr>
  )
}

function whenOf({ status, scheduled_at, started_at, created_at }: Broadcast): string {
  if (status === 'scheduled' && scheduled_at) return text.when.scheduled(formatTime(scheduled_at))
  return started_at ? text.when.started(formatTime(started_at)) : text.when.created(formatTime(created_at))
}
