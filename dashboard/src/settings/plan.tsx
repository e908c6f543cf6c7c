/** The plan and this month's usage. The operator sets plans with the command line. */
import { Badge, Card, Note, Progress } from '../../../ui/display.tsx'
import { type DataOf, useCall } from '../lib/api.ts'
import { formatNumber, formatShare, formatTime } from '../lib/time.ts'
import { Facts } from '../ui/facts.tsx'
import { Page, QueryView } from '../ui/page.tsx'
import { RelativeTime } from '../ui/time.tsx'
import { settingsWords } from '../words/settings.ts'

const { plan: text } = settingsWords

type PlanView = DataOf<'GET /workspace'>['plan']

/** From this share of used messages the page shows a warning. */
const warningShare = 0.8

export function Plan() {
  const query = useCall('GET /workspace', {}, { live: true })
  return (
    <Page title={text.title} lead={text.lead} narrow>
      <QueryView query={query}>{({ plan }) => <PlanDetails plan={plan} />}</QueryView>
    </Page>
  )
}

function PlanDetails({ plan }: { plan: PlanView }) {
  const { state, messages_per_month: limit } = plan
  return (
    <>
      {state === 'lapsed' && (
        <Note tone="red">
          <strong>{text.lapsedTitle}</strong>
          <p>{text.lapsedText}</p>
        </Note>
      )}
      <Card
        title={text.usage}
        actions={<Badge tone={state === 'active' ? 'green' : 'red'}>{text.states[state]}</Badge>}
      >
        {limit === null ? <Unlimited used={plan.used} /> : <Limited plan={plan} limit={limit} />}
        <Facts
          className="settings-facts"
          facts={{
            [text.allowed]: limit === null ? text.unlimited : text.perMonth(formatNumber(limit)),
            [text.left]: plan.left !== null && <span className="numeric">{formatNumber(plan.left)}</span>,
            [text.resets]: (
              <span className="settings-dots">
                <span>{formatTime(plan.resets_at)}</span>
                <span className="soft">
                  <RelativeTime at={plan.resets_at} />
                </span>
              </span>
            ),
          }}
        />
        <p className="soft small">{text.counts}</p>
      </Card>
    </>
  )
}

const Unlimited = ({ used }: { used: number }) => (
  <div>
    <p className="settings-figure numeric">{formatNumber(used)}</p>
    <p className="soft">{text.usedUnlimited}</p>
  </div>
)

function Limited({ plan: { used, left }, limit }: { plan: PlanView; limit: number }) {
  const isUsedUp = left === 0
  const isNear = limit > 0 && used / limit >= warningShare
  return (
    <div className="stack">
      <div>
        <p className="settings-figure numeric">
          {formatNumber(used)} <small className="soft">{text.of(formatNumber(limit))}</small>
        </p>
        <p className="soft">{text.share(formatShare(used, limit))}</p>
      </div>
      <Progress
        label={text.progress}
        total={limit}
        parts={[
          {
            value: Math.min(used, limit),
            color: isUsedUp ? 'var(--red)' : isNear ? 'var(--amber)' : 'var(--accent)',
          },
        ]}
      />
      {isUsedUp && <Note tone="red">{text.usedUp}</Note>}
      {isNear && !isUsedUp && <Note tone="amber">{text.near}</Note>}
    </div>
  )
}
