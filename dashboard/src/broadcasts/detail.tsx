/** One broadcast: its progress, what stopped it, what a member can do about it, and its recipients. */
import { Link } from 'wouter'
import { Card } from '../../../ui/card.tsx'
import { Note } from '../../../ui/note.tsx'
import { CallError, useCall } from '../lib/api.ts'
import { useNow } from '../lib/hooks.ts'
import { useLiveState } from '../lib/live.tsx'
import { formatAgo, formatClock, formatSpan, formatTime } from '../lib/time.ts'
import { NotFound } from '../shell/not-found.tsx'
import { TemplatePreview } from '../templates/preview.tsx'
import { hrefOf } from '../templates/status.tsx'
import { Page, QueryView } from '../ui/page.tsx'
import { words } from '../words/words.ts'
import { Actions } from './actions.tsx'
import { BroadcastProgress } from './progress.tsx'
import { Recipients } from './recipients.tsx'
import { type Broadcast, isCanceling, StateBadge } from './state.tsx'

const { detail: text } = words.broadcasts
const back = { href: '/broadcasts', label: words.broadcasts.back }

export function BroadcastDetail({ id }: { id: string }) {
  // Where no news comes through, its progress is asked for all the same.
  const pollMs = useLiveState() === 'live' ? false : 3_000
  const asked = useCall('GET /broadcasts/{id}', { params: { id } }, { live: true, pollMs })
  const broadcast = asked.data
  if (asked.error instanceof CallError && asked.error.status === 404) return <NotFound />
  return (
    <Page
      title={broadcast?.name ?? text.untitled}
      lead={broadcast && <StateBadge broadcast={broadcast} />}
      back={back}
      actions={broadcast && <Actions broadcast={broadcast} />}
    >
      <QueryView query={asked}>{(found) => <Found broadcast={found} />}</QueryView>
    </Page>
  )
}

function Found({ broadcast }: { broadcast: Broadcast }) {
  return (
    <div className="broadcasts-detail">
      <Standing broadcast={broadcast} />
      <div className="broadcasts-main">
        <Card title={text.progress}>
          <BroadcastProgress broadcast={broadcast} />
        </Card>
        <Recipients broadcast={broadcast} />
      </div>
      <div className="broadcasts-beside">
        <Card title={text.about}>
          <About broadcast={broadcast} />
        </Card>
        <Sent broadcast={broadcast} />
      </div>
    </div>
  )
}

/** Why it does not go on, and when it will. */
function Standing({ broadcast }: { broadcast: Broadcast }) {
  const { status, is_paused, paused_reason, cancel_reason, channel_error, again_id } = broadcast
  return (
    <>
      {channel_error !== null && <Outage broadcast={broadcast} />}
      {is_paused && channel_error === null && (
        <Note tone="amber" icon="pause">
          {paused_reason ? text.pausedBecause(paused_reason) : text.paused}
        </Note>
      )}
      {status === 'canceled' && (
        <Note tone="amber" icon="stop">
          <p>{cancel_reason ? text.canceledBecause(cancel_reason) : text.canceled}</p>
          {isCanceling(broadcast) && <p>{text.canceling}</p>}
        </Note>
      )}
      {status === 'scheduled' && !is_paused && <Note icon="clock">{startOf(broadcast)}</Note>}
      {again_id && (
        <Note icon="refresh">
          {text.again} <Link href={`/broadcasts/${again_id}`}>{text.openAgain}</Link>
        </Note>
      )}
    </>
  )
}

function Outage({ broadcast: { channel_error, next_attempt_at } }: { broadcast: Broadcast }) {
  const now = useNow()
  const waitMs = next_attempt_at === null ? 0 : Date.parse(next_attempt_at) - now
  return (
    <Note tone="amber" icon="alert">
      <p>{text.outage(channel_error ?? '')}</p>
      <p>{waitMs > 0 ? text.nextAttempt(formatSpan(waitMs), formatClock(now + waitMs)) : text.attempting}</p>
    </Note>
  )
}

function startOf({ scheduled_at }: Broadcast): string {
  return scheduled_at && Date.parse(scheduled_at) > Date.now()
    ? text.startsAt(formatTime(scheduled_at), formatAgo(scheduled_at))
    : text.startsSoon
}

function About({ broadcast }: { broadcast: Broadcast }) {
  const { template, segment_id, created_at, scheduled_at, started_at, completed_at } = broadcast
  const times = [
    { label: text.created, at: created_at },
    { label: text.scheduled, at: scheduled_at },
    { label: text.started, at: started_at },
    { label: text.completed, at: completed_at },
  ]
  return (
    <dl className="facts">
      <dt>{text.template}</dt>
      <dd>
        <Link href={hrefOf(template)}>{template.name}</Link> <span className="soft small">{template.language}</span>
      </dd>
      <dt>{text.audience}</dt>
      <dd>{segment_id ? <SegmentLink id={segment_id} /> : text.list}</dd>
      {times.map(
        ({ label, at }) =>
          at && (
            <Fact key={label} label={label}>
              {formatTime(at)}
            </Fact>
          ),
      )}
    </dl>
  )
}

const Fact = ({ label, children }: { label: string; children: string }) => (
  <>
    <dt>{label}</dt>
    <dd>{children}</dd>
  </>
)

function SegmentLink({ id }: { id: string }) {
  const asked = useCall('GET /segments/{id}', { params: { id } })
  if (asked.error instanceof CallError && asked.error.status === 404) return text.segmentGone
  return asked.data ? <Link href={`/segments/${id}`}>{asked.data.name}</Link> : words.common.loading
}

function Sent({ broadcast: { template, params } }: { broadcast: Broadcast }) {
  const asked = useCall('GET /templates', {})
  const found = asked.data?.find(({ name, language }) => name === template.name && language === template.language)
  if (found) return <TemplatePreview template={found} params={params} />
  return asked.data ? <p className="soft small">{text.templateGone}</p> : null
}
