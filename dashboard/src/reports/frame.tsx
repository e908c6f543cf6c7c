/** What all reports share: the title, the tabs, the controls, and the states of loading, error and counting. */
import type { ReactNode } from 'react'
import { ErrorNote } from '../../../ui/display.tsx'
import { useSession } from '../lib/session.tsx'
import { AnchorButton } from '../ui/link-button.tsx'
import { Page, QueryView, Tabs } from '../ui/page.tsx'
import { OverviewPlaceholder } from '../ui/placeholder.tsx'
import { reportWords } from '../words/reports.ts'
import { Controls } from './controls.tsx'
import { Scope } from './header.tsx'
import { type ReportKey, type ReportRequest, useSharedSearch } from './request.ts'
import { Notices } from './states.tsx'

export const reportKeys = Object.keys(reportWords.names) as ReportKey[]

export const pathOfReport = (report: ReportKey): string =>
  report === 'overview' ? '/reports' : `/reports/${report.replace('_', '-')}`

type Common = Parameters<typeof Scope>[0]['report'] & Parameters<typeof Notices>[0]['report']

type FrameProps<Data> = {
  name: ReportKey
  request: ReportRequest
  report: { data: Data | undefined; error: unknown; refetch: () => unknown; isPlaceholderData: boolean }
  csv: string
  children: (data: Data) => ReactNode
}

/** The title, the tabs and the controls of a report, and its states. */
export function Frame<Data extends Common>({ name, request, report, csv, children }: FrameProps<Data>) {
  const { data, isPlaceholderData } = report
  return (
    <Page
      title={reportWords.title(reportWords.names[name])}
      lead={reportWords.leads[name]}
      actions={
        data && !request.fault && <AnchorButton label={reportWords.controls.csv} icon="download" href={csv} download />
      }
    >
      <ReportTabs />
      <Controls report={name} request={request} shown={data} />
      {request.fault ? (
        <ErrorNote>{request.fault}</ErrorNote>
      ) : (
        <>
          <Notices report={data} isRestricted={request.isRestricted} />
          <QueryView query={report} placeholder={<OverviewPlaceholder />}>
            {(shown) => (
              <div className="stack reports-body" aria-busy={isPlaceholderData || undefined}>
                <Scope report={shown} isCompared={name !== 'busy_hours'} />
                {children(shown)}
              </div>
            )}
          </QueryView>
        </>
      )}
    </Page>
  )
}

/** The service has no figures of one member by label. */
function ReportTabs() {
  const isRestricted = useSession().sees !== 'all'
  const searchOf = useSharedSearch()
  return (
    <Tabs
      label={reportWords.tabs}
      items={reportKeys
        .filter((report) => !(isRestricted && report === 'labels'))
        .map((report) => ({
          href: pathOfReport(report),
          label: reportWords.names[report],
          isExact: report === 'overview',
          search: searchOf(),
        }))}
    />
  )
}
