import { EmptyState } from '../../../ui/state.tsx'
import { useTitle } from '../lib/title.ts'
import { LinkButton } from '../ui/link-button.tsx'
import { words } from '../words/words.ts'

export function NotFound() {
  useTitle(words.shell.notFound)
  return (
    <EmptyState
      isPage
      icon="search"
      title={words.shell.notFound}
      action={
        <LinkButton variant="primary" href="/inbox">
          {words.shell.toInbox}
        </LinkButton>
      }
    >
      {words.shell.notFoundText}
    </EmptyState>
  )
}
