/** A page that breaks takes nothing else along: the way to the others stays. */
import { Component, type ReactNode } from 'react'
import { Button } from '../ui/button.tsx'
import { Empty } from '../ui/page.tsx'
import { words } from '../words/words.ts'

export class Boundary extends Component<{ children: ReactNode }, { isBroken: boolean }> {
  override state = { isBroken: false }

  static getDerivedStateFromError() {
    return { isBroken: true }
  }

  override render() {
    if (!this.state.isBroken) return this.props.children
    return (
      <Empty
        icon="alert"
        title={words.shell.crashed}
        action={
          <Button variant="primary" onClick={() => location.reload()}>
            {words.shell.reload}
          </Button>
        }
      >
        {words.shell.crashedText}
      </Empty>
    )
  }
}
