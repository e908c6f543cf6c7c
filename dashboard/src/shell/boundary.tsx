/** A page that breaks takes nothing else along: the way to the others stays. */
import { Component, type ReactNode } from 'react'
import { Button } from '../../../ui/button.tsx'
import { Empty } from '../../../ui/state.tsx'
import { words } from '../words/words.ts'

export class PageMissing extends Error {}

type State = { fault: 'broken' | 'missing' | undefined }

export class Boundary extends Component<{ children: ReactNode }, State> {
  override state: State = { fault: undefined }

  /** `missing`: its script did not come, because the line broke or there is a newer one. */
  static getDerivedStateFromError(error: unknown): State {
    return { fault: error instanceof PageMissing ? 'missing' : 'broken' }
  }

  override render() {
    const { fault } = this.state
    if (!fault) return this.props.children
    const isMissing = fault === 'missing'
    return (
      <Empty
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
      </Empty>
    )
  }
}
