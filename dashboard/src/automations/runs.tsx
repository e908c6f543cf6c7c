/** The runs of an automation, newest first. */
import type { Automation } from './automation.tsx'
import { AutomationPage } from './head.tsx'

export const RunList = ({ automation }: { automation: Automation }) => (
  <AutomationPage automation={automation}>{null}</AutomationPage>
)
