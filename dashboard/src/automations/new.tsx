/** The page of a new automation: the starters. */
import { useCall } from '../lib/api.ts'
import { useIsManager } from '../lib/session.tsx'
import { NotAllowed } from '../shell/errors.tsx'
import { Page, QueryView } from '../ui/page.tsx'
import { automationWords } from '../words/automations.ts'
import { words } from '../words/words.ts'
import { Starters } from './starters.tsx'

const { create: text } = automationWords

export function NewAutomation() {
  const query = useCall('GET /automations', {})
  if (!useIsManager()) return <NotAllowed title={text.title} text={words.common.onlyManagers} />
  return (
    <Page title={text.title} lead={text.lead} back={{ href: '/automations', label: automationWords.back }}>
      <QueryView query={query}>{(existing) => <Starters existing={existing} />}</QueryView>
    </Page>
  )
}
