/** Metrics of the workspace over 7, 30 or 90 days. Polled, because charts that change with each live update are hard to read. */
import '../webhooks/webhooks.css'
import './overview.css'
import './chart.css'
import { SegmentedControl } from '../../../ui/controls.tsx'
import { Checklist } from '../checklist/checklist.tsx'
import { useCall } from '../lib/api.ts'
import { useSearchParam } from '../lib/hooks.ts'
import { Page, QueryView } from '../ui/page.tsx'
import { words } from '../words/words.ts'
import { EmptyOverview } from './empty-overview.tsx'
import { Funnel } from './funnel.tsx'
import { type OverviewView, totalOf } from './metrics.ts'
import { Responses } from './responses.tsx'
import { Tiles } from './tiles.tsx'
import { Traffic } from './traffic.tsx'
import { WebhookHealth } from './webhook-health.tsx'

const { overview: labels } = words

const ranges = ['7', '30', '90'] as const
const usual = '30'
const pollMs = 10_000

export default function Overview() {
  const [wanted, setWanted] = useSearchParam('days')
  const days = ranges.find((each) => each === wanted) ?? usual
  const overview = useCall('GET /overview', { query: { days } }, { keepPrevious: true, pollMs })
  return (
    <Page
      title={labels.title}
      lead={labels.lead}
      actions={
        <SegmentedControl
          label={labels.range}
          value={days}
          options={ranges.map((value) => ({ value, label: labels.ranges[value] }))}
          onChange={(value) => setWanted(value === usual ? '' : value)}
        />
      }
    >
      <Checklist />
      <QueryView query={overview} lines={12}>
        {(data) => (isNew(data) ? <EmptyOverview /> : <Charts overview={data} />)}
      </QueryView>
    </Page>
  )
}

const isNew = ({ days, open_conversations }: OverviewView): boolean =>
  open_conversations === 0 && days.every((day) => totalOf(day, 'inbound') + totalOf(day, 'outbound') === 0)

function Charts({ overview }: { overview: OverviewView }) {
  return (
    <>
      <Tiles overview={overview} />
      <Traffic days={overview.days} />
      <div className="overview-pair">
        <Funnel funnel={overview.funnel} />
        <Responses responses={overview.responses} />
      </div>
      <WebhookHealth webhooks={overview.webhooks} />
    </>
  )
}
