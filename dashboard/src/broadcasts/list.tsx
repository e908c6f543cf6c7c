/** The list of broadcasts, newest first, with live progress. */
import { Link } from 'wouter'
import { SegmentedControl } from '../../../ui/controls.tsx'
import { EmptyState } from '../../../ui/display.tsx'
import { usePages } from '../lib/api.ts'
import { useSearchParam } from '../lib/hooks.ts'
import { useCanWrite } from '../lib/session.tsx'
import { formatAgo, formatNumber, formatShare, formatTime } from '../lib/time.ts'
import { LinkButton } from '../ui/link-button.tsx'
import { LoadMore, Page, QueryState, ViewerNote } from '../ui/page.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { broadcastWords } from '../words/broadcasts.ts'
import { words } from '../words/words.ts'
import { type Step, stepCount, steps } from './funnel.tsx'
import {
  Bar,
  type Broadcast,
  draftHref,
  processedCount,
  recipientTotal,
  StateBadge,
  unconfirmedCount,
} from './status.tsx'

const text = broadcastWords
const statuses = ['draft', 'scheduled', 'sending', 'paused', 'sent', 'canceled'] as const

export function BroadcastList() {
  const [statusInUrl, setStatus] = useSearchParam('status')
  const status = statuses.find((each) => each === statusInUrl)
  // Paused is a flag of its own: a paused broadcast keeps its status.
  const query = status === 'paused' ? ({ is_paused: 'true' } as const) : status && { status }
  const pages = usePages('GET /broadcasts', query ? { query } : {}, { live: true })
  const isEmpty = pages.isSuccess && pages.items.length === 0
  const canWrite = useCanWrite()
  const create = canWrite && <LinkButton label={text.create} variant="primary" icon="plus" href="/broadcasts/new" />
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
          <Table
            className="broadcasts-table"
            isLinked
            rows={pages.items}
            keyOf={({ id }) => id}
            columns={columnsOf(canWrite)}
          />
          <LoadMore pages={pages} />
        </div>
      )}
    </Page>
  )
}

/** These are on the page of the broadcast; the list has them on a wide window. */
const wideSteps: readonly Step[] = ['sent', 'tapped', 'opted_out']

const columnsOf = (canWrite: boolean): Column<Broadcast>[] => [
  {
    label: text.columns.name,
    cell: (broadcast) => (
      <div className="column">
        <Link className="row-link" href={hrefOf(broadcast, canWrite)}>
          {broadcast.name || text.untitled}
        </Link>
        <span className="soft small">
          {[broadcast.template.name, broadcast.author?.name].filter(Boolean).join(' · ')}
        </span>
      </div>
    ),
  },
  { label: text.columns.status, narrow: 'status', cell: (broadcast) => <State broadcast={broadcast} /> },
  {
    label: text.columns.recipients,
    className: 'end',
    cellClassName: 'numeric',
    cell: (broadcast) => <RecipientCount broadcast={broadcast} />,
  },
  ...steps.map(shareColumn),
  { label: text.columns.when, cellClassName: 'soft', narrow: 'plain', cell: whenOf },
]

function shareColumn(step: Step): Column<Broadcast> {
  const wide = wideSteps.includes(step) ? ' broadcasts-wide' : ''
  return {
    label: text.funnel.steps[step],
    className: `end${wide}`,
    cellClassName: 'numeric broadcasts-share',
    cellProps: (broadcast) => ({ 'data-unknown': isSent(broadcast) ? undefined : '' }),
    cell: (broadcast) =>
      isSent(broadcast) ? formatShare(stepCount(broadcast, step), recipientTotal(broadcast)) : text.none,
  }
}

/** The shares beside it are of these recipients, without those that were skipped. */
function RecipientCount({ broadcast }: { broadcast: Broadcast }) {
  if (isUncounted(broadcast)) {
    return (
      <span title={text.atStart}>
        {text.none}
        <span className="offscreen">{text.atStart}</span>
      </span>
    )
  }
  return (
    <div className="column">
      {formatNumber(recipientTotal(broadcast))}
      {broadcast.skipped_count > 0 && (
        <span className="soft small">{text.skipped(formatNumber(broadcast.skipped_count))}</span>
      )}
    </div>
  )
}

/** Whether the funnel has a first value. */
const isSent = ({ sent_count, failed_count }: Broadcast): boolean => sent_count + failed_count > 0

/** Whether it has an audience, which is not counted before the start. */
const isUncounted = ({ status, total_count, segment_id, audience }: Broadcast): boolean =>
  total_count === 0 && (status === 'scheduled' || (status === 'draft' && (segment_id !== null || audience !== null)))

/** A member continues to write a draft. A viewer, and the draft of an integration, get the page that other broadcasts have. */
const hrefOf = (broadcast: Broadcast, canWrite: boolean): string =>
  canWrite && broadcast.status === 'draft' && broadcast.saved_at !== null
    ? draftHref(broadcast)
    : `/broadcasts/${broadcast.id}`

function State({ broadcast }: { broadcast: Broadcast }) {
  const { status } = broadcast
  const total = recipientTotal(broadcast)
  const awaiting = unconfirmedCount(broadcast)
  return (
    <div className="stack broadcasts-state">
      <StateBadge broadcast={broadcast} />
      {status === 'sending' && total > 0 && (
        <>
          <Bar broadcast={broadcast} />
          <span className="soft small numeric">
            {text.done(formatNumber(processedCount(broadcast)), formatNumber(total))}
          </span>
        </>
      )}
      {awaiting > 0 && <span className="soft small">{text.awaiting(awaiting)}</span>}
    </div>
  )
}

function whenOf({ status, scheduled_at, started_at, created_at, saved_at }: Broadcast): string {
  if (status === 'draft' && saved_at) return text.when.saved(formatAgo(saved_at))
  if (status === 'scheduled' && scheduled_at) return text.when.scheduled(formatTime(scheduled_at))
  return started_at ? text.when.started(formatTime(started_at)) : text.when.created(formatTime(created_at))
}
