/** Response times: average, shares within a limit, and average per day. */

import { Link } from 'wouter'
import { Card } from '../../../ui/display.tsx'
import { formatLongDay, formatShortDay, spanTicks } from '../lib/chart.ts'
import { formatNumber, formatShare, formatSpan } from '../lib/time.ts'
import { DayChart, Line } from '../ui/day-chart.tsx'
import { words } from '../words/words.ts'
import { type OverviewView, withData } from './metrics.ts'

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
      <p className="soft small">
        {labels.note} <Link href="/reports">{labels.toReports}</Link>
      </p>
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
      {(scale, activeIndex) => (
        <Line values={days.map((day) => day.average_seconds)} scale={scale} activeIndex={activeIndex} />
      )}
    </DayChart>
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
