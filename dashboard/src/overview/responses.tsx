/** How soon customers were answered: on average, within what, and from day to day. */

import { Card } from '../../../ui/card.tsx'
import { formatNumber, formatShare, formatSpan } from '../lib/time.ts'
import { words } from '../words/words.ts'
import { Plot, type Scale } from './chart.tsx'
import { longDay, type OverviewView, spanTicks } from './scale.ts'

const { responses: said } = words.overview

type Answers = OverviewView['responses']
type AnswerDay = Answers['days'][number]

const spans = ['five_minutes', 'one_hour', 'one_day'] as const

const spanOf = (seconds: number): string => formatSpan(seconds * 1_000)

export function Responses({ responses }: { responses: Answers }) {
  const { count, average_seconds, within, days } = responses
  if (count === 0 || average_seconds === null) {
    return (
      <Card title={said.title}>
        <p className="soft">{said.none}</p>
      </Card>
    )
  }
  return (
    <Card title={said.title}>
      <div className="overview-answers">
        <p>
          <span className="soft small">{said.average}</span>
          <strong className="numeric">{spanOf(average_seconds)}</strong>
          <span className="soft small">{said.answers(formatNumber(count), count)}</span>
        </p>
        <ul>
          {spans.map((span) => (
            <li key={span}>
              <span>{said.within[span]}</span>
              <span className="numeric">{formatShare(within[span], count)}</span>
              <div className="overview-bar" aria-hidden="true">
                <span style={{ width: `${(within[span] / count) * 100}%` }} />
              </div>
            </li>
          ))}
        </ul>
      </div>
      <Course days={days} />
    </Card>
  )
}

function Course({ days }: { days: readonly AnswerDay[] }) {
  const most = Math.max(1, ...days.map(({ average_seconds }) => average_seconds ?? 0))
  return (
    <Plot
      key={days.length}
      label={said.chart}
      days={days.map(({ day }) => day)}
      up={spanTicks(most)}
      format={spanOf}
      height={170}
      say={(place) => sayOf(days[place])}
      tip={(place) => <Tip day={days[place]} />}
    >
      {(scale, place) => <Line days={days} scale={scale} place={place} />}
    </Plot>
  )
}

/** A line over neighbouring days; days without an answer leave a gap, and a day alone is a point. */
function Line({ days, scale: { x, y }, place }: { days: readonly AnswerDay[]; scale: Scale; place: number | null }) {
  const points = days.flatMap(({ day, average_seconds }, at) =>
    average_seconds === null ? [] : [{ day, at, x: x(at), y: y(average_seconds) }],
  )
  const path = points
    .map((point, at) => `${points[at - 1]?.at === point.at - 1 ? 'L' : 'M'}${point.x.toFixed(1)} ${point.y.toFixed(1)}`)
    .join('')
  const isLonely = (at: number) =>
    points[at - 1]?.at !== (points[at]?.at ?? 0) - 1 && points[at + 1]?.at !== (points[at]?.at ?? 0) + 1
  return (
    <g className="overview-line">
      <path d={path} />
      {points
        .filter(({ at }, index) => at === place || isLonely(index))
        .map((point) => (
          <circle key={point.day} cx={point.x} cy={point.y} r={point.at === place ? 4 : 2.5} />
        ))}
    </g>
  )
}

const sayOf = (day: AnswerDay | undefined): string => {
  if (!day) return ''
  return day.average_seconds === null
    ? said.saidNone(longDay(day.day))
    : said.said(longDay(day.day), spanOf(day.average_seconds), day.count)
}

function Tip({ day }: { day: AnswerDay | undefined }) {
  if (!day) return null
  return (
    <>
      <strong>{longDay(day.day)}</strong>
      <p>
        {day.average_seconds === null
          ? said.noAnswers
          : `${spanOf(day.average_seconds)} · ${said.answers(formatNumber(day.count), day.count)}`}
      </p>
    </>
  )
}
