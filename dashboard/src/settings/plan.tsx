/** What the workspace may send this month, and what it has sent. Plans are set by whoever runs the service. */

import { Badge } from '../../../ui/badge.tsx'
import { Card } from '../../../ui/card.tsx'
import { Note } from '../../../ui/note.tsx'
import { Progress } from '../../../ui/progress.tsx'
import { type DataOf, useCall } from '../lib/api.ts'
import { formatNumber, formatShare, formatTime } from '../lib/time.ts'
import { Ago } from '../ui/ago.tsx'
import { Asked, Page } from '../ui/page.tsx'
import { words } from '../words/words.ts'

const { plan: text } = words.settings

type PlanView = DataOf<'GET /workspace'>['plan']

/** From this share on, the end is near enough to say so. */
const nearly = 0.8

export function Plan() {
  const asked = useCall('GET /workspace', {}, { live: true })
  return (
    <Page title={text.title} lead={text.lead} narrow>
      <Asked query={asked}>{({ plan }) => <Shown of={plan} />}</Asked>
    </Page>
  )
}

function Shown({ of: plan }: { of: PlanView }) {
  const { state, messages_per_month: most } = plan
  return (
    <>
      {state === 'lapsed' && (
        <Note tone="red" icon="alert">
          <strong>{text.lapsedTitle}</strong>
          <p>{text.lapsedText}</p>
        </Note>
      )}
      <Card
        title={text.usage}
        actions={<Badge tone={state === 'active' ? 'green' : 'red'}>{text.states[state]}</Badge>}
      >
        {most === null ? <Unlimited used={plan.used} /> : <Limited of={plan} most={most} />}
        <dl className="facts settings-facts">
          <dt>{text.allowed}</dt>
          <dd>{most === null ? text.unlimited : text.perMonth(formatNumber(most))}</dd>
          {plan.left !== null && (
            <>
              <dt>{text.left}</dt>
              <dd className="numeric">{formatNumber(plan.left)}</dd>
            </>
          )}
          <dt>{text.resets}</dt>
          <dd className="settings-dots">
            <span>{formatTime(plan.resets_at)}</span>
            <span className="soft">
              <Ago at={plan.resets_at} />
            </span>
          </dd>
        </dl>
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

function Limited({ of: { used, left }, most }: { of: PlanView; most: number }) {
  const isUsedUp = left === 0
  const isNear = most > 0 && used / most >= nearly
  return (
    <div className="stack">
      <div>
        <p className="settings-figure numeric">
          {formatNumber(used)} <small className="soft">{text.of(formatNumber(most))}</small>
        </p>
        <p className="soft">{text.share(formatShare(used, most))}</p>
      </div>
      <Progress
        label={text.progress}
        total={most}
        parts={[
          {
            value: Math.min(used, most),
            color: isUsedUp ? 'var(--red)' : isNear ? 'var(--amber)' : 'var(--accent)',
          },
        ]}
      />
      {isUsedUp && (
        <Note tone="red" icon="alert">
          {text.usedUp}
        </Note>
      )}
      {isNear && !isUsedUp && (
        <Note tone="amber" icon="alert">
          {text.near}
        </Note>
      )}
    </div>
  )
}
