/** The status of the installation, for its operator. */
import './status.css'
import type { ReactNode } from 'react'
import { Badge, Card, Code, CopyButton, Note, Progress } from '../../../ui/display.tsx'
import { describeError, useCall } from '../lib/api.ts'
import { formatBytes, formatExact, formatNumber, formatShare } from '../lib/time.ts'
import { Facts } from '../ui/facts.tsx'
import { Page, QueryView } from '../ui/page.tsx'
import { Table } from '../ui/table.tsx'
import { RelativeTime } from '../ui/time.tsx'
import { settingsWords } from '../words/settings.ts'
import {
  ageText,
  countText,
  describeStatus,
  type Process,
  type Queue,
  type StatusView,
  sentenceOf,
  spanOf,
  stateOf,
  toneOf,
  versionsOf,
} from './status-text.ts'

const { status: text } = settingsWords

/** Processes report as often. */
const pollMs = 10_000

export function Status() {
  const query = useCall('GET /status', {}, { pollMs })
  return (
    <Page
      title={text.title}
      lead={text.lead}
      narrow
      actions={query.data && <CopyButton text={describeStatus(query.data)} label={text.copy} />}
    >
      {query.error && query.data && <Note tone="amber">{text.stale(describeError(query.error))}</Note>}
      <QueryView query={query}>{(status) => <Parts status={status} />}</QueryView>
    </Page>
  )
}

function Parts({ status }: { status: StatusView }) {
  const { queues, delays, processes, disks, database, backup } = status
  const unknown = (part: StatusView['unknown'][number]['part']) => (
    <div className="card-body">
      <Note tone="amber">{text.unknown(status.unknown.find((one) => one.part === part)?.reason ?? '')}</Note>
    </div>
  )
  return (
    <>
      <Summary status={status} />
      <Card title={text.queues.title} flush>
        {queues ? <Queues queues={queues} /> : unknown('queues')}
      </Card>
      <Card title={text.delays.title} flush>
        {delays ? <Delays delays={delays} database={database} /> : unknown('processes')}
      </Card>
      <div>
        <Card title={text.processes.title} flush>
          {processes ? <Processes processes={processes} /> : unknown('processes')}
        </Card>
      </div>
      <Card title={text.disks.title} flush>
        {status.unknown.some(({ part }) => part === 'disks') && unknown('disks')}
        {disks ? <Disks disks={disks} /> : unknown('processes')}
      </Card>
      <Card title={text.database.title} flush>
        {database ? <Database database={database} processes={processes ?? []} /> : unknown('database')}
      </Card>
      <Card title={text.backup.title} flush>
        {backup ? <Backup backup={backup} /> : unknown('backup')}
      </Card>
    </>
  )
}

function Summary({ status }: { status: StatusView }) {
  return (
    <Note tone={toneOf(status)}>
      {/* Only a change of the sentence is announced. */}
      <p role="status">
        <strong>{sentenceOf(status)}</strong>
      </p>
      {status.problems.length > 0 && (
        <ul className="stack status-problems" aria-label={text.problems}>
          {status.problems.map(({ alert, where, summary, advice }) => (
            <li key={`${alert} ${where}`}>
              <p>
                <strong>{summary}</strong> {where && <code>{where}</code>}
              </p>
              <p>
                <Markdown text={advice} />
              </p>
              <p className="small">{text.moreIn(alert)}</p>
            </li>
          ))}
        </ul>
      )}
      <p className="small status-checked">{text.checked(formatExact(status.checked_at))}</p>
    </Note>
  )
}

/** The advice is a paragraph of docs/alerts.md: text between backticks is code. */
const Markdown = ({ text }: { text: string }): ReactNode =>
  text
    .split('`')
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts keep their order.
    .map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))

const Queues = ({ queues }: { queues: readonly Queue[] }) => (
  <Table
    rows={queues}
    keyOf={({ name }) => name}
    columns={[
      { label: text.queues.queue, cell: ({ name }) => text.queues.names[name] },
      { label: text.queues.count, className: 'status-number', cellClassName: 'numeric', cell: countText },
      { label: text.queues.oldest, className: 'status-number', cellClassName: 'numeric', cell: ageText },
    ]}
  />
)

function Delays({ delays, database }: { delays: NonNullable<StatusView['delays']>; database: StatusView['database'] }) {
  const { search_seconds: search, search_pending_pages: pages, clock_seconds: clock } = delays
  const labels = text.delays
  return (
    <div className="card-body">
      <Facts
        className="settings-facts"
        facts={{
          [labels.search]: search === null ? labels.unknown : labels.behind(spanOf(search)),
          [labels.pages]: pages === null ? labels.unknown : labels.pageCount(pages),
          [labels.clock]: labels.clockDifference(spanOf(clock)),
          [labels.replication]: database ? replicationText(database) : labels.unknown,
        }}
      />
    </div>
  )
}

function replicationText({ standbys, replication_seconds: lag }: NonNullable<StatusView['database']>): string {
  if (standbys === 0) return text.delays.noStandby
  return `${text.delays.standbys(standbys)}, ${lag === null ? text.delays.lagUnknown : text.delays.behind(spanOf(lag))}`
}

const stateTones = { running: 'green', failing: 'red', silent: 'red' } as const

function Processes({ processes }: { processes: readonly Process[] }) {
  const labels = text.processes
  const loops = processes.flatMap(({ service, process, loops }) => loops.map((loop) => ({ service, process, ...loop })))
  const failing = loops.filter(({ is_failing }) => is_failing).length
  return (
    <>
      <Table
        rows={processes}
        keyOf={({ service, process }) => `${service} ${process}`}
        columns={[
          {
            label: labels.process,
            cell: ({ process, service }) => (
              <span>
                <strong>{process}</strong> <span className="soft">{service}</span>
              </span>
            ),
          },
          {
            label: labels.state,
            cell: (one) => <Badge tone={stateTones[stateOf(one)]}>{labels.states[stateOf(one)]}</Badge>,
          },
          { label: labels.reported, cell: ({ reported_at }) => <RelativeTime at={reported_at} /> },
          { label: labels.started, cell: ({ started_at }) => <RelativeTime at={started_at} /> },
          {
            label: labels.restarts,
            className: 'status-number',
            cellClassName: 'numeric',
            cell: ({ restarts }) => formatNumber(restarts),
          },
          {
            label: labels.memory,
            className: 'status-number',
            cellClassName: 'numeric nowrap',
            cell: ({ memory_bytes }) => formatBytes(memory_bytes),
          },
          { label: labels.version, cell: ({ version }) => version },
        ]}
      />
      <details className="status-loops">
        <summary>{failing > 0 ? labels.loopsFailing(loops.length, failing) : labels.loops(loops.length)}</summary>
        <Table
          rows={loops}
          keyOf={({ service, process, name }) => `${service} ${process} ${name}`}
          columns={[
            {
              label: labels.loop,
              cell: ({ name, is_failing }) => (
                <>
                  <code>{name}</code> {is_failing && <Badge tone="red">{labels.fails}</Badge>}
                </>
              ),
            },
            {
              label: labels.process,
              cell: ({ process, service }) => (
                <span>
                  {process} <span className="soft">{service}</span>
                </span>
              ),
            },
            {
              label: labels.lastRound,
              cell: ({ succeeded_at: at }) => (at ? <RelativeTime at={at} /> : labels.notYet),
            },
          ]}
        />
      </details>
    </>
  )
}

function Disks({ disks }: { disks: NonNullable<StatusView['disks']> }) {
  const labels = text.disks
  return (
    <div className="card-body">
      {disks.length === 0 && <p className="soft">{labels.none}</p>}
      {disks.map(({ service, folder, free_bytes: free, total_bytes: total, is_full, is_nearly_full }) => (
        <div key={`${service} ${folder}`} className="stack status-disk">
          <p className="row spread">
            <span>
              <code>{folder}</code> <span className="soft">{service}</span>
            </span>
            {(is_full || is_nearly_full) && <Badge tone="red">{is_full ? labels.full : labels.nearlyFull}</Badge>}
          </p>
          <Progress
            label={labels.used(folder)}
            total={total}
            parts={[{ value: total - free, color: is_nearly_full ? 'var(--red)' : 'var(--accent)' }]}
          />
          <p className="soft small">{labels.free(formatBytes(free), formatBytes(total), formatShare(free, total))}</p>
        </div>
      ))}
      {disks.length > 0 && <p className="soft small">{labels.limits}</p>}
    </div>
  )
}

type DatabaseProps = { database: NonNullable<StatusView['database']>; processes: readonly Process[] }

function Database({ database, processes }: DatabaseProps) {
  const labels = text.database
  const { migration, is_migrated, version, size_bytes, connections, max_connections } = database
  return (
    <div className="card-body">
      <Facts
        className="settings-facts"
        facts={{
          [labels.parley]: versionsOf(processes).join(', ') || text.delays.unknown,
          [labels.schema]: (
            <span className="row">
              <code>{migration}</code> {!is_migrated && <Badge tone="amber">{labels.migrating}</Badge>}
            </span>
          ),
          [labels.postgres]: version,
          [labels.size]: formatBytes(size_bytes),
          [labels.connections]: labels.connectionCount(formatNumber(connections), formatNumber(max_connections)),
        }}
      />
    </div>
  )
}

function Backup({ backup: { is_embedded, last } }: { backup: NonNullable<StatusView['backup']> }) {
  const labels = text.backup
  return (
    <div className="card-body">
      {last && (
        <Facts
          className="settings-facts"
          facts={{
            [labels.when]: <RelativeTime at={last.created_at} />,
            [labels.where]: <code>{last.folder}</code>,
            [labels.size]: labels.sizeAndFiles(formatBytes(last.bytes), formatNumber(last.files)),
          }}
        />
      )}
      {!last && is_embedded && (
        <>
          <p>{labels.none}</p>
          <Code text={labels.command} />
        </>
      )}
      {!is_embedded && <p className="soft">{labels.external}</p>}
    </div>
  )
}
