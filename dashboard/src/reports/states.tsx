/** What a report says when it has nothing to show, or not all of it yet. */
import { Button } from '../../../ui/controls.tsx'
import { Card, EmptyState, Note } from '../../../ui/display.tsx'
import { useIsManager } from '../lib/session.tsx'
import { LinkButton } from '../ui/link-button.tsx'
import { reportWords } from '../words/reports.ts'
import { noFilters, setSearch } from './request.ts'

type NoticesProps = {
  report: { is_complete?: boolean; is_rebuilding: boolean; time_zone: string } | undefined
  isRestricted: boolean
}

export const Notices = ({ report, isRestricted }: NoticesProps) => (
  <>
    {isRestricted && <Note icon="lock">{reportWords.restricted}</Note>}
    {report?.is_complete === false && <Note tone="amber">{reportWords.incomplete}</Note>}
    {report?.is_rebuilding && <Note tone="amber">{reportWords.rebuilding(report.time_zone)}</Note>}
  </>
)

type NothingProps = { title?: string; text?: string }

export const NothingInPeriod = ({ title = reportWords.empty.title, text = reportWords.empty.text }: NothingProps) => (
  <Card>
    <EmptyState
      icon="reports"
      title={title}
      text={text}
      action={
        <Button
          label={reportWords.empty.longer}
          onClick={() => setSearch({ ...noFilters, period: '90', from: '', to: '' })}
        />
      }
    />
  </Card>
)

type SetUpProps = { text: { title: string; text: string; action: string }; href: string }

/** The report needs something of the settings. Only owners and admins can add it. */
export const SetUp = ({ text, href }: SetUpProps) => (
  <Card>
    <EmptyState
      icon="settings"
      title={text.title}
      text={text.text}
      action={useIsManager() && <LinkButton label={text.action} variant="primary" href={href} />}
    />
  </Card>
)
