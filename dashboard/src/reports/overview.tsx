/** The report of all episodes: key figures, and plots of what came in and how long it took. */
import { countTicks, spanTicks } from '../lib/chart.ts'
import { formatCompact, formatNumber } from '../lib/time.ts'
import { reportWords } from '../words/reports.ts'
import { formatSeconds } from './duration.ts'
import { counts, type EpisodeReport, isEmpty, measures, nameOfTime, secondsOf, spreads } from './episodes.ts'
import { Change } from './figure.tsx'
import { Plot, type Series } from './plot.tsx'
import { NothingInPeriod } from './states.tsx'
import { Tile, TileFigure, Tiles } from './tiles.tsx'

export function OverviewReport({ report }: { report: EpisodeReport }) {
  return (
    <>
      <EpisodeTiles report={report} />
      {isEmpty(report) ? (
        <NothingInPeriod />
      ) : (
        <>
          <Volume report={report} />
          <div className="reports-pair">
            {spreads.map((spread) => (
              <Times key={spread} report={report} spread={spread} />
            ))}
          </div>
        </>
      )}
    </>
  )
}

function EpisodeTiles({ report: { totals, previous } }: { report: EpisodeReport }) {
  return (
    <Tiles>
      <Tile label={reportWords.figures.waiting_now} hint={reportWords.hints.waiting_now}>
        <TileFigure
          value={formatNumber(totals.waiting_now)}
          label={reportWords.figures.waiting_now}
          opens={totals.waiting_now > 0 ? { show: 'waiting_now' } : undefined}
        />
      </Tile>
      {counts.map((name) => (
        <Tile key={name} label={reportWords.figures[name]} hint={reportWords.hints[name]}>
          <TileFigure
            value={formatNumber(totals[name])}
            label={reportWords.figures[name]}
            opens={totals[name] > 0 ? { show: name } : undefined}
          >
            <Change kind="count" now={totals[name]} before={previous[name]} />
          </TileFigure>
        </Tile>
      ))}
      {spreads.map((spread) => (
        <Tile key={spread} label={reportWords.figures[spread]} hint={reportWords.hints[spread]} isWide>
          <div className="reports-tile-times">
            {measures.map((measure) => {
              const seconds = secondsOf(totals, spread, measure)
              return (
                <TileFigure
                  key={measure}
                  name={reportWords.times[measure]}
                  value={seconds === null ? '–' : formatSeconds(seconds)}
                  label={nameOfTime(spread, measure)}
                  opens={seconds === null ? undefined : { show: spread }}
                >
                  <Change kind="time" now={seconds} before={secondsOf(previous, spread, measure)} />
                </TileFigure>
              )
            })}
          </div>
        </Tile>
      ))}
    </Tiles>
  )
}

function Volume({ report: { intervals, interval } }: { report: EpisodeReport }) {
  const marks = { opened: 'bar', closed: 'second-bar' } as const
  const series = counts.map(
    (name): Series => ({
      label: reportWords.figures[name],
      values: intervals.map((each) => each[name]),
      ...(name in marks ? { mark: marks[name as keyof typeof marks] } : {}),
      opens: (start, index) => (intervals[index]?.[name] ? { show: name, start } : undefined),
    }),
  )
  return (
    <Plot
      name="volume"
      title={reportWords.plots.volume}
      starts={intervals.map(({ start }) => start)}
      interval={interval}
      series={series}
      ticks={countTicks}
      format={formatCompact}
    />
  )
}

type TimesProps = { report: EpisodeReport; spread: (typeof spreads)[number] }

function Times({ report: { intervals, interval }, spread }: TimesProps) {
  const marks = { median: 'line', p90: 'second-line' } as const
  const opens: NonNullable<Series['opens']> = (start, index) =>
    intervals[index]?.[spread].count ? { show: spread, start } : undefined
  const times = measures.map(
    (measure): Series => ({
      label: reportWords.times[measure],
      values: intervals.map((each) => secondsOf(each, spread, measure)),
      ...(measure in marks ? { mark: marks[measure as keyof typeof marks] } : {}),
      opens,
    }),
  )
  return (
    <Plot
      name={spread}
      title={reportWords.plots[spread]}
      starts={intervals.map(({ start }) => start)}
      interval={interval}
      series={[
        ...times,
        {
          label: reportWords.plots.episodes,
          values: intervals.map((each) => each[spread].count),
          format: formatNumber,
          opens,
        },
      ]}
      ticks={spanTicks}
      format={formatSeconds}
      height={200}
    />
  )
}
