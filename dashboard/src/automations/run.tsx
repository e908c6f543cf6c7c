/** A run of an automation: its steps on a time line. */
import { useCall } from '../lib/api.ts'
import { Page, QueryView } from '../ui/page.tsx'

export function RunPage({ id }: { id: string }) {
  const query = useCall('GET /automation-runs/{id}', { params: { id } })
  return (
    <Page title={query.data?.automation_name ?? ''}>
      <QueryView query={query}>{(run) => <>{run.state}</>}</QueryView>
    </Page>
  )
}
