/** The runs of an automation, newest first. */
import { Link } from 'wouter'
import { Select } from '../../../ui/controls.tsx'
import { EmptyState } from '../../../ui/display.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { type ItemOf, usePages } from '../lib/api.ts'
import { useSearchParam } from '../lib/hooks.ts'
import { formatSpan } from '../lib/time.ts'
import { PagedList } from '../ui/page.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { RelativeTime } from '../ui/time.tsx'
import { automationWords } from '../words/automations.ts'
import type { Automation } from './automation.tsx'
import { AutomationPage } from './head.tsx'
import { contactOf, EndBadge, explain, reasons } from './run-state.tsx'

const { runs: text } = automationWords

export function RunList({ automation }: { automation: Automation }) {
  const { id, version } = automation
  const [chosen, choose] = useSearchParam('state')
  const reason = reasons.find((each) => each === chosen)
  const query = chosen === 'open' ? ({ state: 'open' } as const) : reason ? { reason } : {}
  const pages = usePages('GET /automations/{id}/runs', { params: { id }, query }, { live: true, keepPrevious: true })
  const isFiltered = chosen === 'open' || reason !== undefined
  const empty = isFiltered ? (
    <EmptyState icon="automations" title={text.nothing} text={text.nothingText} />
  ) : (
    <EmptyState icon="automations" title={text.empty} text={version === 0 ? text.emptyDraft : text.emptyText} />
  )
  return (
    <AutomationPage automation={automation}>
      <div className="row toolbar">
        <Select
          aria-label={text.filter}
          value={isFiltered ? chosen : ''}
          options={[['', text.all], ['open', text.open], ...reasons.map((each) => [each, text.reasons[each]] as const)]}
          onChange={({ target }) => choose(target.value)}
        />
      </div>
      <div className="card">
        <PagedList pages={pages} empty={empty}>
          {(runs) => (
            <Table
              label={text.list}
              className="automations-runs table-text"
              isLinked
              rows={runs}
              keyOf={(run) => run.id}
              columns={columns}
            />
          )}
        </PagedList>
      </div>
    </AutomationPage>
  )
}

type Run = ItemOf<'GET /automations/{id}/runs'>

const columns: Column<Run>[] = [
  {
    label: text.columns.contact,
    cell: (run) => (
      <Link className="row-link table-name" href={`/automations/runs/${run.id}`}>
        {contactOf(run)}
      </Link>
    ),
  },
  { label: text.columns.end, narrow: 'status', cell: (run) => <EndBadge run={run} /> },
  { label: text.columns.about, cellClassName: 'soft automations-about', narrow: 'plain', cell: explain },
  {
    label: text.columns.version,
    className: 'end minor',
    cellClassName: 'soft numeric',
    cell: ({ version }) => version,
  },
  {
    label: text.columns.took,
    className: 'end minor',
    cellClassName: 'soft numeric nowrap',
    cell: ({ started_at, ended_at }) => (ended_at ? formatSpan(Date.parse(ended_at) - Date.parse(started_at)) : ''),
  },
  {
    label: text.columns.started,
    className: 'end',
    cellClassName: 'soft',
    narrow: 'plain',
    cell: ({ started_at }) => <RelativeTime at={started_at} />,
  },
  {
    label: text.columns.conversation,
    isLabelHidden: true,
    className: 'end',
    cell: (run) =>
      run.conversation_id && (
        <Link
          className="button automations-open"
          data-variant="quiet"
          data-size="small"
          data-icon-only=""
          href={`/inbox/${run.conversation_id}`}
          title={text.toConversation(contactOf(run))}
          aria-label={text.toConversation(contactOf(run))}
        >
          <Icon name="chat" />
        </Link>
      ),
  },
]
