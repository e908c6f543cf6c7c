/** The list of automations, in the order in which they are tried, with how their runs of the last week ended. */
import { Link } from 'wouter'
import { IconButton } from '../../../ui/controls.tsx'
import { EmptyState } from '../../../ui/display.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { Menu } from '../../../ui/menu.tsx'
import { useCall, useChange } from '../lib/api.ts'
import { useIsManager } from '../lib/session.tsx'
import { formatNumber } from '../lib/time.ts'
import { LinkButton } from '../ui/link-button.tsx'
import { Page, QueryView, ViewerNote } from '../ui/page.tsx'
import { RowsPlaceholder } from '../ui/placeholder.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { RelativeTime } from '../ui/time.tsx'
import { automationWords } from '../words/automations.ts'
import { type Automation, StateBadge } from './automation.tsx'
import { hasQuestions } from './definition.ts'
import { describeStart } from './describe.ts'
import { toSentence } from './run-state.tsx'
import { Starters } from './starters.tsx'

const { list: text } = automationWords

export function AutomationList() {
  const query = useCall('GET /automations', {}, { live: true })
  const isManager = useIsManager()
  const create = isManager && <LinkButton label={text.create} variant="primary" icon="plus" href="/automations/new" />
  const isEmpty = query.data?.length === 0
  return (
    <Page title={automationWords.title} lead={automationWords.lead} actions={!isEmpty && create}>
      <ViewerNote />
      <QueryView query={query} placeholder={<RowsPlaceholder count={6} />}>
        {(automations) => (isEmpty ? <Empty isManager={isManager} /> : <Automations automations={automations} />)}
      </QueryView>
    </Page>
  )
}

function Empty({ isManager }: { isManager: boolean }) {
  if (!isManager) return <EmptyState icon="automations" title={text.empty} text={text.emptyReader} />
  return (
    <section className="stack automations-empty">
      <div>
        <h2>{text.empty}</h2>
        <p className="soft">{automationWords.create.lead}</p>
      </div>
      <Starters existing={[]} />
    </section>
  )
}

function Automations({ automations }: { automations: readonly Automation[] }) {
  const isManager = useIsManager()
  const ids = automations.map(({ id }) => id)
  const columns: (Column<Automation> | false)[] = [
    { label: text.columns.name, cell: (automation) => <Name automation={automation} /> },
    { label: text.columns.state, narrow: 'status', cell: ({ state }) => <StateBadge state={state} /> },
    {
      label: text.columns.started,
      className: 'end',
      cellClassName: 'numeric',
      cell: ({ recent_runs: { started, open } }) => <Started started={started} open={open} />,
    },
    ...ends.map(endColumn),
    isManager &&
      automations.length > 1 && {
        label: text.columns.actions,
        isLabelHidden: true,
        className: 'end',
        cell: ({ id, name }) => <Order id={id} name={name} ids={ids} />,
      },
  ]
  return (
    <>
      <div className="card">
        <Table
          className="automations-table table-text"
          isLinked
          rows={automations}
          keyOf={({ id }) => id}
          columns={columns}
        />
      </div>
      {automations.length > 1 && <p className="soft small">{text.order}</p>}
    </>
  )
}

/** The name, what starts it, and its last error. */
function Name({
  automation: { id, name, state, version, definition, draft, last_error: error },
}: {
  automation: Automation
}) {
  const shown = definition ?? draft
  const about = [
    describeStart(shown),
    ...(shown && hasQuestions(shown) ? [automationWords.text.triggers.questions] : []),
    ...(draft && version > 0 ? [text.changed] : []),
  ]
  return (
    <div className="column automations-name">
      <Link className="row-link table-name" href={`/automations/${id}`}>
        {name}
      </Link>
      <span className="soft small">{about.join(' · ')}</span>
      {error && state !== 'draft' && (
        <Link className="line small automations-error" href={`/automations/runs/${error.run_id}`}>
          <Icon name="alert" />
          <span className="cut">{text.lastError(toSentence(error.error))}</span>
          <RelativeTime at={error.at} />
        </Link>
      )}
    </div>
  )
}

const Started = ({ started, open }: { started: number; open: number }) => (
  <div className="column">
    {formatNumber(started)}
    {open > 0 && <span className="soft small nowrap">{text.open(open)}</span>}
  </div>
)

const ends = ['finished', 'handed_over', 'person', 'failed', 'other'] as const

const endColumn = (end: (typeof ends)[number]): Column<Automation> => ({
  label: text.columns[end],
  className: 'end',
  cellClassName: `numeric automations-${end}`,
  cellProps: ({ recent_runs: runs }) => ({ 'data-unknown': runs[end] === 0 ? '' : undefined }),
  cell: ({ recent_runs: runs }) => formatNumber(runs[end]),
})

/** Moves an automation among the others. */
function Order({ id, name, ids }: { id: string; name: string; ids: readonly string[] }) {
  const position = ids.indexOf(id)
  const move = useChange('PATCH /automations/{id}', {
    stale: ['GET /automations'],
    done: (moved) => text.moved(moved.name, moved.position + 1, ids.length),
    reportsError: true,
  })
  const to = (next: number) => move.mutate({ params: { id }, body: { position: next } })
  return (
    <Menu
      label={text.move(name)}
      button={<IconButton label={text.move(name)} icon="sort" disabled={move.isPending} />}
      items={[
        ...(position > 0 ? [{ icon: 'up' as const, label: text.up, onSelect: () => to(position - 1) }] : []),
        ...(position < ids.length - 1
          ? [{ icon: 'chevron' as const, label: text.down, onSelect: () => to(position + 1) }]
          : []),
      ]}
    />
  )
}
