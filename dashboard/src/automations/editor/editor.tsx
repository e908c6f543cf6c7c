/** The editor of an automation: the definition as text. */
import { Code } from '../../../../ui/display.tsx'
import type { Automation } from '../automation.tsx'
import { AutomationPage } from '../head.tsx'

export const Editor = ({ automation }: { automation: Automation }) => (
  <AutomationPage automation={automation}>
    <Code text={JSON.stringify(automation.draft ?? automation.definition, null, 2)} />
  </AutomationPage>
)
