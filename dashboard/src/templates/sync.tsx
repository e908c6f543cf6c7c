/** The button that reads the templates of all numbers from the provider. Only owners and admins see it. */
import { useIsManager } from '../lib/session.tsx'
import { CallButton } from '../ui/dialogs.tsx'
import { words } from '../words/words.ts'

const { templates: text } = words

type Props = { size?: 'small'; variant?: 'primary' }

export function SyncTemplates(props: Props) {
  if (!useIsManager()) return null
  return (
    <CallButton
      {...props}
      label={text.refresh}
      icon="refresh"
      call="POST /templates/refresh"
      input={{}}
      stale={['GET /templates']}
      done={(templates) => text.refreshed(templates.length)}
    />
  )
}
