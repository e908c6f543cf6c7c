/** The English texts, one file per page folder. */
import { checklist } from './checklist.ts'
import { common } from './common.ts'
import { contactPanel } from './contact-panel.ts'
import { contacts } from './contacts.ts'
import { developers } from './developers.ts'
import { inbox } from './inbox.ts'
import { integrations } from './integrations.ts'
import { overview } from './overview.ts'
import { secondFactor } from './second-factor.ts'
import { segments } from './segments.ts'
import { shell } from './shell.ts'
import { signIn } from './sign-in.ts'
import { templates } from './templates.ts'

export const en = {
  ...common,
  shell,
  signIn,
  secondFactor,
  inbox,
  contacts,
  contactPanel,
  segments,
  templates,
  developers,
  integrations,
  overview,
  checklist,
}
