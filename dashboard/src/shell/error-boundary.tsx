/** Catches the errors of a page, so that the navigation to the other pages stays usable. */
import { Component, type ReactNode } from 'react'
import { Button } from '../../../ui/button.tsx'
import { EmptyState } from '../../../ui/state.tsx'
import { words } from '../words/words.ts'

export class PageLoadError extends Error {}

type State = { fault: 'broken' | 'missing' | undefined }

export class ErrorBoundary extends Component<{ children: ReactNode }, State> {
  override state: State = { fault: undefined }

  /** `missing`: the page's script did not load, because the connection was lost or a newer version replaced it. */
  static getDerivedStateFromError(error: unknown): State {
    return { fault: error instanceof PageLoadError ? 'missing' : 'broken' }
  }

  override render() {
    const { fault } = this.state
    if (!fault) return this.props.children
    const isMissing = fault === 'missing'
    return (
      <EmptyState
        isPage
        icon="alert"
        title={isMissing ? words.shell.missing : words.shell.crashed}
        action={
          <Button variant="primary" onClick={() => location.reload()}>
            {words.shell.reload}
          </Button>
        }
      >
        {isMissing ? words.shell.missingText : words.shell.crashedText}
      </EmptyState>
    )
  }
}
