/** The detail page of a broadcast: status, progress, actions and recipients. */
import { Link } from 'wouter'
import { Card, Note } from '../../../ui/display.tsx'
import { isNotFound, useCall } from '../lib/api.ts'
import { describeConnection, useNumbers } from '../lib/connections.ts'
import { useNow } from '../lib/hooks.ts'
import { useLiveState } from '../lib/live.tsx'
import { useCanWrite } from '../lib/session.tsx'
import { formatAgo, formatClock, formatSpan, formatTime } from '../lib/time.ts'
import { ItemNotFound } from '../shell/errors.tsx'
import { TemplatePreview } from '../templates/preview.tsx'
import { hrefOf } from '../templates/status.tsx'
import { Facts } from '../ui/facts.tsx'
import { Page, QueryView, ViewerNote } from '../ui/page.tsx'
import { broadcastWords } from '../words/broadcasts.ts'
import { words } from '../words/words.ts'
import { Actions } from './actions.tsx'
import { BroadcastProgress } from './progress.tsx'
import { Recipients } from './recipients.tsx'
import { type Broadcast, isCanceling, StateBadge } from './status.tsx'

const { detail: text } = broadcastWords
const back = { href: '/broadcasts', label: broadcastWords.back }

export function BroadcastDetail({ id }: { id: string }) {
  // Polls while live updates are disconnected.
  const pollMs = useLiveState() === 'live' ? false : 3_000
  const query = useCall('GET /broadcasts/{id}', { params: { id } }, { live: true, pollMs })
  const broadcast = query.data
  const canWrite = useCanWrite()
  if (isNotFound(query.error)) return <ItemNotFound {...broadcastWords.notFound} href="/broadcasts" />
  return (
    <Page
      title={broadcast?.name || text.untitled}
      lead={broadcast && <StateBadge broadcast={broadcast} />}
      back={back}
      actions={broadcast && canWrite && <Actions broadcast={broadcast} />}
    >
      <ViewerNote />
      <QueryView query={query}>{(loaded) => <BroadcastContent broadcast={loaded} />}</QueryView>
    </Page>
  )
}

function BroadcastContent({ broadcast }: { broadcast: Broadcast }) {
  return (
    <div className="broadcasts-detail">
      <StatusNotes broadcast={broadcast} />
      <div className="broadcasts-main">
        <Card title={text.progress}>
          <BroadcastProgress broadcast={broadcast} />
        </Card>
        <Recipients broadcast={broadcast} />
      </div>
      <div className="stack broadcasts-beside">
        <Card title={text.about}>
          <About broadcast={broadcast} />
        </Card>
        <MessagePreview broadcast={broadcast} />
      </div>
    </div>
  )
}

/** Why the broadcast is not sending, and when it continues. */
function StatusNotes({ broadcast }: { broadcast: Broadcast }) {
  const { status, is_paused, paused_reason, cancel_reason, channel_error, again_id } = broadcast
  return (
    <>
      {channel_error !== null && <OutageNote broadcast={broadcast} />}
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
      {status === 'draft' && <Note icon="edit">{broadcast.saved_at ? text.memberDraft : text.draft}</Note>}
      {status === 'scheduled' && !is_paused && <StartNote broadcast={broadcast} />}
      {again_id && (
        <Note icon="refresh">
          {text.again} <Link href={`/broadcasts/${again_id}`}>{text.openAgain}</Link>
        </Note>
      )}
    </>
  )
}

function OutageNote({ broadcast: { channel_error, next_attempt_at } }: { broadcast: Broadcast }) {
  const now = useNow()
  const waitMs = next_attempt_at === null ? 0 : Date.parse(next_attempt_at) - now
  return (
    <Note tone="amber">
      <p>{text.outage(channel_error ?? '')}</p>
      <p>{waitMs > 0 ? text.nextAttempt(formatSpan(waitMs), formatClock(now + waitMs)) : text.attempting}</p>
    </Note>
  )
}

function StartNote({ broadcast: { scheduled_at: at } }: { broadcast: Broadcast }) {
  const now = useNow()
  const isAhead = at !== null && Date.parse(at) > now
  return <Note icon="clock">{isAhead ? text.startsAt(formatTime(at), formatAgo(at, now)) : text.startsSoon}</Note>
}

function About({ broadcast }: { broadcast: Broadcast }) {
  const { template, author, connection_id, created_at, scheduled_at, started_at, completed_at } = broadcast
  const numbers = useNumbers()
  const sender = numbers.find(({ id }) => id === connection_id)
  const name = template.name && (
    <>
      <Link href={hrefOf(template)}>{template.name}</Link> <span className="soft small">{template.language}</span>
    </>
  )
  return (
    <Facts
      facts={{
        [text.template]: name,
        [text.audience]: <AudienceText broadcast={broadcast} />,
        [text.from]: numbers.length > 1 && (sender ? describeConnection(sender) : text.fromGone),
        [text.author]: author?.name,
        [text.created]: formatTime(created_at),
        [text.scheduled]: scheduled_at && formatTime(scheduled_at),
        [text.started]: started_at && formatTime(started_at),
        [text.completed]: completed_at && formatTime(completed_at),
      }}
    />
  )
}

function AudienceText({ broadcast: { segment_id, audience } }: { broadcast: Broadcast }) {
  if (!audience) return segment_id ? <SegmentLink id={segment_id} /> : text.list
  const { segment_ids: ids, excluded_segment_ids: excluded } = audience
  return (
    <>
      {ids.length === 0 ? text.allContacts : <SegmentLinks ids={ids} />}
      {excluded.length > 0 && (
        <>
          {` ${text.without} `}
          <SegmentLinks ids={excluded} />
        </>
      )}
    </>
  )
}

const SegmentLinks = ({ ids }: { ids: readonly string[] }) =>
  ids.map((id, i) => (
    <span key={id}>
      {i > 0 && ', '}
      <SegmentLink id={id} />
    </span>
  ))

function SegmentLink({ id }: { id: string }) {
  const query = useCall('GET /segments/{id}', { params: { id } })
  if (isNotFound(query.error)) return text.segmentGone
  return query.data ? <Link href={`/segments/${id}`}>{query.data.name}</Link> : words.common.loading
}

function MessagePreview({ broadcast: { template, params, connection_id } }: { broadcast: Broadcast }) {
  const query = useCall('GET /templates', {})
  const sender = useNumbers().find(({ id }) => id === connection_id)
  const loaded = query.data?.find(
    ({ name, language, account }) =>
      name === template.name && language === template.language && (!sender || account === sender.account_id),
  )
  if (!template.name) return null
  if (loaded) return <TemplatePreview template={loaded} params={params} />
  return query.data ? <p className="soft small">{text.templateGone}</p> : null
}
