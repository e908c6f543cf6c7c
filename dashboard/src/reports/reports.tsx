/** Reports: how much work there is, how fast it is done, and how content customers are. Each figure opens what is behind it. */
import './reports.css'
import { Route, Switch } from 'wouter'
import { EmptyState } from '../../../ui/display.tsx'
import { pathOf, useCall } from '../lib/api.ts'
import { reportWords } from '../words/reports.ts'
import { words } from '../words/words.ts'
import { AvailabilityReport, SpanDrawer } from './availability.tsx'
import { BusyHours } from './busy-hours.tsx'
import { EpisodeDrawer } from './episode-drawer.tsx'
import type { EpisodeReport } from './episodes.ts'
import { Frame, pathOfReport, reportKeys } from './frame.tsx'
import { KeyedReport } from './keyed.tsx'
import { type Opened, useOpened } from './opened.ts'
import { OverviewReport } from './overview.tsx'
import { type ReportKey, rowsOf, useReportRequest } from './request.ts'
import { RatingDrawer, SatisfactionReport } from './satisfaction.tsx'
import { OutcomeDrawer, TargetsReport } from './targets.tsx'

export default function Reports() {
  return (
    <Switch>
      {reportKeys.map((report) => (
        <Route key={report} path={pathOfReport(report)}>
          <Report key={report} name={report} />
        </Route>
      ))}
      <Route>
        <EmptyState icon="search" title={words.shell.notFound} text={words.shell.notFoundText} isPage />
      </Route>
    </Switch>
  )
}

function Report({ name }: { name: ReportKey }) {
  if (name === 'satisfaction') return <OfRatings />
  if (name === 'targets') return <OfTargets />
  return name === 'availability' ? <OfAvailability /> : <OfEpisodes name={name} />
}

/** Not while a list is open, which must add up to its figure. */
const pollMs = 15_000

/** How to query a report. */
const optionsOf = (isReady: boolean, opened: Opened | undefined) => ({
  ...{ enabled: isReady, keepPrevious: true, pollMs: opened ? (false as const) : pollMs },
})

type EpisodesProps = { name: EpisodeReport['name'] }

/** A report that counts episodes. */
function OfEpisodes({ name }: EpisodesProps) {
  const request = useReportRequest(name)
  const opened = useOpened()
  const input = { params: { name }, query: request.query }
  const report = useCall('GET /reports/{name}', input, optionsOf(request.isReady, opened))
  return (
    <Frame name={name} request={request} report={report} csv={pathOf('GET /reports/{name}/table.csv', input)}>
      {(data) => (
        <>
          {name === 'overview' && <OverviewReport report={data} />}
          {name in rowsOf && <KeyedReport name={name as keyof typeof rowsOf} report={data} />}
          {name === 'busy_hours' && <BusyHours report={data} />}
          <Notes name={name} isInOfficeHours={request.isInOfficeHours} />
          {opened && (
            <EpisodeDrawer
              key={keyOf(opened)}
              report={data}
              request={request}
              opened={opened}
              onUpdate={report.refetch}
            />
          )}
        </>
      )}
    </Frame>
  )
}

const keyOf = (opened: Opened): string => JSON.stringify(opened)

function OfRatings() {
  const request = useReportRequest('satisfaction')
  const opened = useOpened()
  const input = { query: request.query }
  const report = useCall('GET /reports/satisfaction', input, optionsOf(request.isReady, opened))
  return (
    <Frame
      name="satisfaction"
      request={request}
      report={report}
      csv={pathOf('GET /reports/satisfaction/table.csv', input)}
    >
      {(data) => {
        const shared = { report: data, request }
        return (
          <>
            <SatisfactionReport {...shared} />
            <p className="soft small reports-notes">{reportWords.satisfaction.note}</p>
            {opened && <RatingDrawer key={keyOf(opened)} {...shared} opened={opened} onUpdate={report.refetch} />}
          </>
        )
      }}
    </Frame>
  )
}

function OfTargets() {
  const request = useReportRequest('targets')
  const opened = useOpened()
  const input = { query: request.query }
  const report = useCall('GET /reports/targets', input, optionsOf(request.isReady, opened))
  return (
    <Frame name="targets" request={request} report={report} csv={pathOf('GET /reports/targets/table.csv', input)}>
      {(data) => {
        const shared = { report: data, request }
        return (
          <>
            <TargetsReport {...shared} />
            <p className="soft small reports-notes">{reportWords.targets.note}</p>
            {opened && <OutcomeDrawer key={keyOf(opened)} {...shared} opened={opened} onUpdate={report.refetch} />}
          </>
        )
      }}
    </Frame>
  )
}

function OfAvailability() {
  const request = useReportRequest('availability')
  const opened = useOpened()
  const input = { query: request.query }
  const report = useCall('GET /reports/availability', input, optionsOf(request.isReady, opened))
  return (
    <Frame
      name="availability"
      request={request}
      report={report}
      csv={pathOf('GET /reports/availability/table.csv', input)}
    >
      {(data) => {
        const shared = { report: data, request }
        return (
          <>
            <AvailabilityReport {...shared} />
            <p className="soft small reports-notes">{reportWords.availability.note}</p>
            {opened && <SpanDrawer key={keyOf(opened)} {...shared} opened={opened} onUpdate={report.refetch} />}
          </>
        )
      }}
    </Frame>
  )
}

function Notes({ name, isInOfficeHours }: EpisodesProps & { isInOfficeHours: boolean }) {
  const { notes, rows } = reportWords
  const shown = [
    notes.episode,
    name in rowsOf && rows.notes[name as keyof typeof rowsOf],
    name === 'overview' && notes.overview,
    name !== 'busy_hours' && notes.waiting,
    isInOfficeHours && notes.officeHours,
    name !== 'busy_hours' && notes.error,
  ]
  return <p className="soft small reports-notes">{shown.filter(Boolean).join(' ')}</p>
}
