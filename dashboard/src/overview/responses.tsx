/** Response times: average, shares within a limit, and average per day. */

import { Card } from '../../../ui/display.tsx'
import { formatNumber, formatShare, formatSpan } from '../lib/time.ts'
import { words } from '../words/words.ts'
import { DayChart, type Scale } from './day-chart.tsx'
import { formatLongDay, formatShortDay, type OverviewView, spanTicks, withData } from './metrics.ts'

const { responses: labels } = words.overview

type Answers = OverviewView['responses']
type AnswerDay = Answers['days'][number]

const spans = ['five_minutes', 'one_hour', 'one_day'] as const

const spanOf = (seconds: number): string => formatSpan(seconds * 1_000)

type ResponsesProps = { responses: Answers; firstDay: string | null }

export function Responses({ responses, firstDay }: ResponsesProps) {
  const { count, average_seconds, within } = responses
  const days = withData(responses.days, firstDay)
  if (count === 0 || average_seconds === null) {
    return (
      <Card title={labels.title}>
        <p className="soft">{labels.none}</p>
      </Card>
    )
  }
  return (
    <Card title={labels.title}>
      <div className="overview-answers">
        <p>
          <span className="soft small">{labels.average}</span>
          <strong className="numeric">{spanOf(average_seconds)}</strong>
          <span className="soft small">{labels.answers(formatNumber(count), count)}</span>
        </p>
        <ul>
          {spans.map((span) => (
            <li key={span}>
              <span>{labels.within[span]}</span>
              <span className="numeric">{formatShare(within[span], count)}</span>
              <div className="overview-bar" aria-hidden="true">
                <span style={{ width: `${(within[span] / count) * 100}%` }} />
              </div>
            </li>
          ))}
        </ul>
      </div>
      {days.length > 1 && <Course days={days} />}
    </Card>
  )
}

function Course({ days }: { days: readonly AnswerDay[] }) {
  const max = Math.max(1, ...days.map(({ average_seconds }) => average_seconds ?? 0))
  return (
    <DayChart
      key={days.length}
      label={labels.chart}
      days={days.map(({ day }) => formatShortDay(day))}
      up={spanTicks(max)}
      format={spanOf}
      height={170}
      describe={(index) => describeDay(days[index])}
      tip={(index) => <Tip day={days[index]} />}
    >
      {(scale, activeIndex) => <Line days={days} scale={scale} activeIndex={activeIndex} />}
    </DayChart>
  )
}

type LineProps = { days: readonly AnswerDay[]; scale: Scale; activeIndex: number | null }

/** A line over consecutive days. Days without replies leave a gap; a single day is drawn as a point. */
function Line({ days, scale: { x, y }, activeIndex }: LineProps) {
  const points = days.flatMap(({ day, average_seconds }, at) =>
    average_seconds === null ? [] : [{ day, at, x: x(at), y: y(average_seconds) }],
  )
  const path = points
    .map((point, at) => `${points[at - 1]?.at === point.at - 1 ? 'L' : 'M'}${point.x.toFixed(1)} ${point.y.toFixed(1)}`)
    .join('')
  const isIsolated = (at: number) =>
    points[at - 1]?.at !== (points[at]?.at ?? 0) - 1 && points[at + 1]?.at !== (points[at]?.at ?? 0) + 1
  return (
    <g className="overview-line">
      <path d={path} />
      {points
        .filter(({ at }, index) => at === activeIndex || isIsolated(index))
        .map((point) => (
          <circle key={point.day} cx={point.x} cy={point.y} r={point.at === activeIndex ? 4 : 2.5} />
        ))}
    </g>
  )
}

const describeDay = (day: AnswerDay | undefined): string => {
  if (!day) return ''
  return day.average_seconds === null
    ? labels.noRepliesText(formatLongDay(day.day))
    : labels.dayText(formatLongDay(day.day), spanOf(day.average_seconds), day.count)
}

function Tip({ day }: { day: AnswerDay | undefined }) {
  if (!day) return null
  return (
    <>
      <strong>{formatLongDay(day.day)}</strong>
      <p>
        {day.average_seconds === null
          ? labels.noAnswers
          : `${spanOf(day.average_seconds)} · ${labels.answers(formatNumber(day.count), day.count)}`}
      </p>
    </>
  )
}
