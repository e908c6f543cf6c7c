/** Catches the errors of a page, so that the navigation to the other pages stays usable. */
import { Component, type ReactNode } from 'react'
import { Button } from '../../../ui/controls.tsx'
import { EmptyState } from '../../../ui/display.tsx'
import { words } from '../words/words.ts'

/** The page's script did not load: the connection was lost, or a newer version of the dashboard replaced the script. */
export class PageLoadError extends Error {}

type State = { failure: 'crashed' | 'missing' | undefined }

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
