/**
 * The funnel of a broadcast: sent, delivered, read, replied, tapped, opted out. Each step counts recipients, and every share has
 * the same denominator: the recipients that were not skipped.
 */
import { useCall } from '../lib/api.ts'
import { formatNumber, formatShare, formatTime } from '../lib/time.ts'
import { broadcastWords } from '../words/broadcasts.ts'
import { type Broadcast, colors, recipientTotal } from './status.tsx'

const { funnel: text } = broadcastWords

export const steps = ['sent', 'delivered', 'read', 'replied', 'tapped', 'opted_out'] as const
export type Step = (typeof steps)[number]

export const stepCount = (broadcast: Broadcast, step: Step): number => broadcast[`${step}_count`]

export function Funnel({ broadcast }: { broadcast: Broadcast }) {
  const whole = recipientTotal(broadcast)
  if (whole === 0) return null
  return (
    <div className="broadcasts-funnel">
      <dl>
        {steps.map((step) => {
          const count = stepCount(broadcast, step)
          return (
            <div key={step} title={text.hints[step]}>
              <dt>{text.steps[step]}</dt>
              <dd className="numeric">
                <span className="broadcasts-track" aria-hidden="true">
                  <span style={{ inlineSize: `${(100 * count) / whole}%`, background: colors[step] }} />
                </span>
                <strong>{formatNumber(count)}</strong>
                <span className="soft small">{formatShare(count, whole)}</span>
              </dd>
            </div>
          )
        })}
      </dl>
      <p className="soft small">{text.whole(whole)}</p>
      <FunnelLine broadcast={broadcast} />
    </div>
  )
}

const lines = ['delivered', 'read', 'replied'] as const
const [width, height] = [600, 120]
/** The counters are live; the line reads thousands of rows. */
const pollMs = 15_000

/** Delivered, read and replied over time. The list above has the same values for screen readers: the line ends with the live counters. */
function FunnelLine({ broadcast }: { broadcast: Broadcast }) {
  const { id, delivered_count: delivered, read_count: read, replied_count: replied } = broadcast
  const query = useCall('GET /broadcasts/{id}/timeline', { params: { id } }, { enabled: delivered > 0, pollMs })
  const loaded = query.data ?? []
  const first = loaded[0]
  const lastLoaded = loaded.at(-1)
  if (!first || !lastLoaded) return null
  const last = { ...lastLoaded, delivered, read, replied }
  const points = [...loaded.slice(0, -1), last]
  const whole = recipientTotal(broadcast)
  const pathOf = (step: (typeof lines)[number]) =>
    points
      .map(
        (point, i) =>
          `${(width * i) / (points.length - 1)},${height - (height * Math.min(point[step], whole)) / whole}`,
      )
      .join(' ')
  const ends = placeLabels(
    lines.map((step) => ({ step, count: Math.min(last[step], whole) })),
    whole,
  )
  return (
    <figure className="broadcasts-line">
      <figcaption className="row soft small">
        <span>{text.overTime}</span>
        {lines.map((step) => (
          <span key={step} className="line broadcasts-key">
            <span className="broadcasts-swatch" style={{ background: colors[step] }} />
            {text.steps[step]}
          </span>
        ))}
      </figcaption>
      <div className="broadcasts-plot small numeric" aria-hidden="true">
        <div className="broadcasts-axis soft">
          <span>{formatNumber(whole)}</span>
          <span>0</span>
        </div>
        <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true" focusable="false">
          {lines.map((step) => (
            <polyline
              key={step}
              style={{ stroke: colors[step] }}
              points={pathOf(step)}
              vectorEffect="non-scaling-stroke"
            />
          ))}
        </svg>
        <div className="broadcasts-ends">
          {ends.map(({ step, count, top }) => (
            <span key={step} style={{ color: colors[step], top }}>
              {formatNumber(count)}
            </span>
          ))}
        </div>
      </div>
      <div className="row spread soft small numeric">
        <span>{formatTime(first.at)}</span>
        <span>{formatTime(last.at)}</span>
      </div>
    </figure>
  )
}

const labelHeight = 16

/** The places of the values at the ends of the lines, from the highest line. A label that would cover the one above it is below it. */
function placeLabels<Label extends { count: number }>(labels: readonly Label[], whole: number) {
  let free = Number.NEGATIVE_INFINITY
  return labels.map((label) => {
    const top = Math.max(free, height - (height * label.count) / whole - labelHeight / 2)
    free = top + labelHeight
    return { ...label, top }
  })
}
