import { EmptyState } from '../../../ui/display.tsx'
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
      text={words.shell.notFoundText}
      action={<LinkButton label={words.shell.toInbox} variant="primary" href="/inbox" />}
    />
  )
}
