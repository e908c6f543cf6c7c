/** The states in place of a page: an error, an unknown path, no connection. */
import { Component, type ReactNode, useEffect, useRef } from 'react'
import { Button } from '../../../ui/controls.tsx'
import { EmptyState } from '../../../ui/display.tsx'
import { useTitle } from '../lib/title.ts'
import { LinkButton } from '../ui/link-button.tsx'
import { words } from '../words/words.ts'

/** The page's script did not load: the connection was lost, or a newer version of the dashboard replaced the script. */
export class PageLoadError extends Error {}

type State = { failure: 'crashed' | 'missing' | undefined }

/** Catches the errors of a page, so that the navigation to the other pages stays usable. */
export class ErrorBoundary extends Component<{ children: ReactNode }, State> {
  override state: State = { failure: undefined }

  static getDerivedStateFromError(error: unknown): State {
    return { failure: error instanceof PageLoadError ? 'missing' : 'crashed' }
  }

  override render() {
    const { failure } = this.state
    if (!failure) return this.props.children
    const reload = <Button label={words.shell.reload} variant="primary" onClick={() => location.reload()} />
    return (
      <EmptyState
        isPage
        icon="alert"
        title={words.shell[failure]}
        text={words.shell[`${failure}Text`]}
        action={reload}
      />
    )
  }
}

/** An unknown path. */
export const NotFound = () => (
  <ItemNotFound
    title={words.shell.notFound}
    text={words.shell.notFoundText}
    label={words.shell.toInbox}
    href="/inbox"
  />
)

/** A page that the role of the member may not open. */
export function NotAllowed({ title, text }: { title: string; text: string }) {
  useTitle(title)
  const link = <LinkButton label={words.shell.toInbox} href="/inbox" variant="primary" />
  return <EmptyState isPage icon="lock" title={title} text={text} action={link} />
}

type ItemNotFoundProps = { title: string; text: string; label: string; href: string }

/** An object that does not exist, with a link to the others. */
export function ItemNotFound({ title, text, ...link }: ItemNotFoundProps) {
  useTitle(title)
  return (
    <EmptyState isPage icon="search" title={title} text={text} action={<LinkButton {...link} variant="primary" />} />
  )
}

const retryMs = 5_000

/** The page without a connection at its start. It tries again when the browser is online again, and every few seconds. */
export function Offline({ onRetry }: { onRetry: () => void }) {
  useTitle(words.shell.offline)
  const latest = useRef(onRetry)
  latest.current = onRetry
  useEffect(() => {
    const retry = () => latest.current()
    const timer = setInterval(retry, retryMs)
    addEventListener('online', retry)
    return () => {
      clearInterval(timer)
      removeEventListener('online', retry)
    }
  }, [])
  return (
    <EmptyState
      isPage
      icon="alert"
      title={words.shell.offline}
      text={words.shell.offlineText}
      action={<Button label={words.common.again} icon="refresh" onClick={onRetry} />}
    />
  )
}
