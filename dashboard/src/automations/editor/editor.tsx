/** The editor of an automation: the outline of its steps. */
import type { Automation } from '../automation.tsx'
import { AutomationPage } from '../head.tsx'

export const Editor = ({ automation }: { automation: Automation }) => (
  <AutomationPage automation={automation}>
    <pre className="card card-body">{JSON.stringify(automation.draft ?? automation.definition, null, 2)}</pre>
  </AutomationPage>
)
