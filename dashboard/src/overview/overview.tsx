/** Metrics of the workspace or of one connection, of today, or over 7, 30 or 90 days. Polled, because charts that change with each live update are hard to read. */
import '../webhooks/webhooks.css'
import './overview.css'
import { Link } from 'wouter'
import { SegmentedControl, Select } from '../../../ui/controls.tsx'
import { Card, EmptyState } from '../../../ui/display.tsx'
import { Icon, type IconName } from '../../../ui/icon.tsx'
import { Checklist } from '../checklist/checklist.tsx'
import { useCall } from '../lib/api.ts'
import { formatShortDay } from '../lib/chart.ts'
import { type Connection, describeConnection, useFilterable } from '../lib/connections.ts'
import { useSearchParam } from '../lib/hooks.ts'
import { formatNumber, formatShare } from '../lib/time.ts'
import { Page, QueryView } from '../ui/page.tsx'
import { OverviewPlaceholder } from '../ui/placeholder.tsx'
import { words } from '../words/words.ts'
import { channels, type OverviewView, periodsOf, wholeOf } from './metrics.ts'
import { Responses } from './responses.tsx'
import { Tiles } from './tiles.tsx'
import { Traffic } from './traffic.tsx'
import { WebhookHealth } from './webhook-health.tsx'

const { overview: labels } = words

const ranges = ['1', '7', '30', '90'] as const
const usual = '30'
const pollMs = 10_000

export default function Overview() {
  const [wanted, setWanted] = useSearchParam('days')
  const days = ranges.find((each) => each === wanted) ?? usual
  const [connectionId, setConnection] = useSearchParam('connection')
  const { offered, chosen, isKnown } = useFilterable(connectionId)
  const query = { days, ...(chosen ? { connection_id: chosen.id } : {}) }
  const enabled = connectionId === '' || isKnown
  const overview = useCall('GET /overview', { query }, { enabled, keepPrevious: true, pollMs })
  return (
    <Page
      title={labels.title}
      lead={overview.data ? leadOf(overview.data) : labels.lead}
      actions={
        <>
          {offered.length > 0 && (
            <Select
              aria-label={labels.connection}
              value={chosen?.id ?? ''}
              options={[
                ['', labels.allConnections],
                ...offered.map((each) => [each.id, describeConnection(each)] as const),
              ]}
              onChange={({ target }) => setConnection(target.value)}
            />
          )}
          <SegmentedControl
            label={labels.range}
            value={days}
            options={ranges.map((value) => ({ value, label: labels.ranges[value] }))}
            onChange={(value) => setWanted(value === usual ? '' : value)}
          />
        </>
      }
    >
      <Checklist />
      <QueryView query={overview} placeholder={<OverviewPlaceholder />}>
        {(data) => (isNew(data) && !chosen ? <EmptyOverview /> : <Charts overview={data} connection={chosen} />)}
      </QueryView>
    </Page>
  )
}

/** With the first day that has data, if the period begins before it. */
function leadOf({ time_zone, first_day, days }: OverviewView): string {
  const [first] = days
  const isLater = first_day !== null && first !== undefined && first_day > first.day
  return [labels.lead, labels.zone(time_zone), ...(isLater ? [labels.since(formatShortDay(first_day))] : [])].join(' ')
}

const isNew = ({ first_day, open_conversations }: OverviewView): boolean =>
  open_conversations === 0 && first_day === null

type ChartsProps = { overview: OverviewView; connection: Connection | undefined }

/** Webhooks belong to no connection. The web chat reports no delivery. */
function Charts({ overview, connection }: ChartsProps) {
  const periods = periodsOf(overview)
  return (
    <>
      <Tiles overview={overview} periods={periods} connection={connection} />
      <Traffic
        periods={periods}
        isHourly={overview.hours.length > 0}
        channels={connection ? [connection.channel] : channels}
      />
      <div className="overview-pair">
        <Funnel overview={overview} connection={connection} />
        <Responses responses={overview.responses} firstDay={overview.first_day} />
      </div>
      {!connection && <WebhookHealth webhooks={overview.webhooks} />}
    </>
  )
}

const { first } = words.overview

const steps: readonly { name: keyof typeof first.steps; icon: IconName; href: string }[] = [
  { name: 'channel', icon: 'chat', href: '/settings/channels' },
  { name: 'contacts', icon: 'contacts', href: '/contacts' },
]

/** Shown instead of charts in a workspace without messages: links to connect a channel and add contacts. */
function EmptyOverview() {
  return (
    <div className="card overview-first">
      <EmptyState icon="overview" title={first.title} text={first.text} />
      <ol>
        {steps.map(({ name, icon, href }) => (
          <li key={name} data-link="">
            <Icon name={icon} />
            <div className="grow">
              <Link href={href}>{first.steps[name].title}</Link>
              <p>{first.steps[name].text}</p>
            </div>
            <Icon name="right" />
          </li>
        ))}
      </ol>
    </div>
  )
}

const funnelSteps = ['sent', 'delivered', 'read', 'failed'] as const

/** Delivery of the messages of the period. Each share is one of all messages outside the web chat, with those that failed. */
function Funnel({ overview: { funnel, funnel_since, time_zone }, connection }: ChartsProps) {
  const whole = wholeOf(funnel)
  const none =
    connection?.channel === 'web' ? labels.funnel.web : connection ? labels.funnel.noneSent : labels.funnel.none
  const notes = [
    whole > 0 && (connection ? labels.funnel.wholeOf(formatNumber(whole)) : labels.funnel.whole(formatNumber(whole))),
    whole > 0 && time_zone !== 'UTC' && labels.funnel.utc,
    funnel_since && connection?.channel !== 'web' && labels.funnel.since(formatShortDay(funnel_since)),
  ].filter(Boolean)
  return (
    <Card title={labels.funnel.title}>
      {whole === 0 ? (
        <p className="soft">{none}</p>
      ) : (
        <ul className="stack overview-funnel">
          {funnelSteps.map((name) => (
            <li key={name} data-name={name}>
              <div className="row spread">
                <span>
                  <strong>{labels.funnel[name]}</strong> <small>{labels.funnel.hints[name]}</small>
                </span>
                <span className="numeric nowrap">
                  {formatNumber(funnel[name])} <small>{formatShare(funnel[name], whole)}</small>
                </span>
              </div>
              <div className="overview-bar" aria-hidden="true">
                <span style={{ width: `${(funnel[name] / whole) * 100}%` }} />
              </div>
            </li>
          ))}
        </ul>
      )}
      {notes.length > 0 && <p className="soft small">{notes.join(' ')}</p>}
    </Card>
  )
}
