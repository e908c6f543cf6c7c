/** Routes of the automations: list, editor and runs of one, a run. */
import './automations.css'
import { Route, Switch } from 'wouter'
import { isNotFound, useCall } from '../lib/api.ts'
import { ItemNotFound } from '../shell/errors.tsx'
import { Page, QueryState } from '../ui/page.tsx'
import { automationWords as text } from '../words/automations.ts'
import type { Automation } from './automation.tsx'
import { Editor } from './editor/editor.tsx'
import { AutomationList } from './list.tsx'
import { NewAutomation } from './new.tsx'
import { RunPage } from './run.tsx'
import { RunList } from './runs.tsx'

export default function Automations() {
  return (
    <Switch>
      <Route path="/automations/new" component={NewAutomation} />
      <Route path="/automations/runs/:runId">{({ runId }) => <RunPage key={runId} id={runId} />}</Route>
      <Route path="/automations/:id/runs">{({ id }) => <Loaded key={id} id={id} page={RunList} />}</Route>
      <Route path="/automations/:id">{({ id }) => <Loaded key={id} id={id} page={Editor} />}</Route>
      <Route component={AutomationList} />
    </Switch>
  )
}

type LoadedProps = { id: string; page: (props: { automation: Automation }) => React.ReactNode }

/** A page of one automation, once it is loaded. */
function Loaded({ id, page: Content }: LoadedProps) {
  const query = useCall('GET /automations/{id}', { params: { id } })
  if (isNotFound(query.error)) return <ItemNotFound {...text.notFound} href="/automations" />
  if (query.data) return <Content automation={query.data} />
  return (
    <Page title={text.title} back={{ href: '/automations', label: text.back }}>
      <QueryState query={query} />
    </Page>
  )
}
