/** The progress of a broadcast by status, and its sending rate, measured while the page is open. */
import { useEffect, useState } from 'react'
import { useNow } from '../lib/hooks.ts'
import { formatNumber, formatShare, formatSpan } from '../lib/time.ts'
import { broadcastWords } from '../words/broadcasts.ts'
import { Facts } from './facts.tsx'
import { Funnel } from './funnel.tsx'
import {
  Bar,
  type Broadcast,
  colors,
  countsOf,
  processedCount,
  recipientStatuses,
  recipientTotal,
  unconfirmedCount,
} from './status.tsx'

const { detail: text } = broadcastWords

export function BroadcastProgress({ broadcast }: { broadcast: Broadcast }) {
  const { total_count, pending_count: pending, status, started_at } = broadcast
  const counts = countsOf(broadcast)
  const total = recipientTotal(broadcast)
  const processed = processedCount(broadcast)
  if (total_count === 0) {
    return <p className="soft">{status === 'sending' ? text.preparing : text.notCounted}</p>
  }
  return (
    <>
      <div className="broadcasts-headline">
        {total > 0 && <strong className="numeric">{formatShare(processed, total)}</strong>}
        <span className="soft">
          {total > 0 ? text.handled(formatNumber(processed), formatNumber(total)) : text.allSkipped}
        </span>
      </div>
      <div className="broadcasts-bar">
        <Bar broadcast={broadcast} />
        <dl className="broadcasts-legend small">
          {recipientStatuses.map((each) => (
            <div key={each} title={text.hints[each]}>
              <dt className="soft">
                <span className="broadcasts-swatch" data-status={each} style={{ background: colors[each] }} />
                {text.parts[each]}
              </dt>
              <dd className="numeric">
                <strong>{formatNumber(counts[each])}</strong>
              </dd>
            </div>
          ))}
        </dl>
      </div>
      <Funnel broadcast={broadcast} />
      {started_at && (pending > 0 ? <RunningFacts broadcast={broadcast} /> : <CompletedFacts broadcast={broadcast} />)}
    </>
  )
}

type Sample = { at: number; done: number }

/** The rate is measured over this time. */
const windowMs = 15_000

/** Recipients processed per second in the last 15 seconds; before that is measured, since the start. */
function useSendingRate(done: number, sinceMs: number): number | undefined {
  const [samples, setSamples] = useState<readonly Sample[]>([])
  useEffect(() => {
    const at = Date.now()
    setSamples((all) => [...all.filter((sample) => at - sample.at < windowMs), { at, done }])
  }, [done])
  const [first] = samples
  const last = samples.at(-1)
  if (!first || !last || last.at - first.at < 1_000 || last.done === first.done) {
    return done > 0 && sinceMs > 0 ? (done / sinceMs) * 1000 : undefined
  }
  return ((last.done - first.done) / (last.at - first.at)) * 1000
}

function RunningFacts({ broadcast }: { broadcast: Broadcast }) {
  const { pending_count, started_at, is_paused, status } = broadcast
  const now = useNow()
  const elapsedMs = now - Date.parse(started_at ?? '')
  const rate = useSendingRate(processedCount(broadcast), elapsedMs)
  const awaiting = unconfirmedCount(broadcast)
  const isSending = status === 'sending' && !is_paused && awaiting === 0
  // A lower rate would be shown as 0.
  const shownRate = rate && rate >= 0.05 ? rate : undefined
  const facts = [
    ...(status === 'sending' ? [{ label: text.elapsed, value: formatSpan(elapsedMs) }] : []),
    ...(isSending
      ? [
          { label: text.rate, value: shownRate ? text.perSecond(formatRate(shownRate)) : text.measuring },
          { label: text.left, value: shownRate ? formatSpan((pending_count / shownRate) * 1000) : text.measuring },
        ]
      : []),
  ]
  return (
    <>
      {facts.length > 0 && <Facts facts={facts} isSmall />}
      {awaiting > 0 && <p className="soft small">{text.awaiting(awaiting)}</p>}
    </>
  )
}

function CompletedFacts({ broadcast }: { broadcast: Broadcast }) {
  const { started_at, completed_at, sent_count, failed_count } = broadcast
  if (!started_at || !completed_at) return null
  // At least a second: the rate of a few milliseconds means nothing.
  const tookMs = Math.max(Date.parse(completed_at) - Date.parse(started_at), 1_000)
  const rate = (sent_count + failed_count) / (tookMs / 1_000)
  return (
    <Facts
      isSmall
      facts={[
        { label: text.took, value: formatSpan(tookMs) },
        { label: text.rate, value: text.perSecond(formatRate(rate)) },
      ]}
    />
  )
}

const formatRate = (rate: number): string => formatNumber(rate < 10 ? Math.round(rate * 10) / 10 : Math.round(rate))
