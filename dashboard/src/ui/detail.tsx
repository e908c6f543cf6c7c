/**
 * The details of a row of a list: beside the list on a wide window, so that both stay usable, and a dialog on a narrow one. Buttons, and
 * beside the list the keys `j` and `k`, step through the rows.
 */
import { Fragment, type ReactNode, useEffect } from 'react'
import { IconButton } from '../../../ui/controls.tsx'
import { Dialog } from '../../../ui/overlays.tsx'
import { useMedia } from '../lib/hooks.ts'
import { useShortcuts } from '../lib/shortcuts.ts'
import { words } from '../words/words.ts'
import type { Pages } from './page.tsx'

/** The same width as in `ui.css`. */
const wideQuery = '(min-width: 80rem)'

/** Absent at the ends of the list. */
export type Steps = { previous?: (() => void) | undefined; next?: (() => void) | undefined }

/** The steps from the open row. A row that is not in the list has none. */
export function useSteps(pages: Pages<{ id: string }>, open: string, onOpen: (id: string) => void): Steps {
  const { items, error, hasNextPage, isFetchingNextPage, fetchNextPage } = pages
  const position = items.findIndex(({ id }) => id === open)
  // The next row of the last one is on the next page.
  const isLast = position !== -1 && position === items.length - 1
  const needsPage = isLast && hasNextPage && !isFetchingNextPage && !error
  useEffect(() => {
    if (needsPage) fetchNextPage()
  }, [needsPage, fetchNextPage])
  const to = (index: number) => {
    const id = position === -1 ? undefined : items[index]?.id
    return id === undefined ? undefined : () => onOpen(id)
  }
  return { previous: to(position - 1), next: to(position + 1) }
}

type DetailProps = {
  /** Of the open row: those of another start at the top, without the state of this one. */
  id: string
  title: string
  steps: Steps
  onClose: () => void
  children: ReactNode
}

export function Detail(props: DetailProps) {
  const isWide = useMedia(wideQuery)
  if (isWide) return <Beside {...props} />
  const { id, title, steps, onClose, children } = props
  return (
    <Dialog title={title} size="wide" onClose={onClose}>
      <div className="row">
        <StepButtons {...steps} />
      </div>
      <Fragment key={id}>{children}</Fragment>
    </Dialog>
  )
}

function Beside({ id, title, steps, onClose, children }: DetailProps) {
  const close = () => {
    openLink()?.focus()
    onClose()
  }
  useShortcuts({ j: () => steps.next?.(), k: () => steps.previous?.(), Escape: close })
  // In braces: `scrollIntoView` returns a promise in new browsers, and React would call it as the cleanup.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the link is that of this row.
  useEffect(() => {
    openLink()?.scrollIntoView({ block: 'nearest' })
  }, [id])
  return (
    <section className="card detail" aria-label={title}>
      <header>
        <h2>{title}</h2>
        <StepButtons {...steps} />
        <IconButton label={words.common.close} icon="close" onClick={close} />
      </header>
      <div key={id} className="stack detail-body">
        {children}
      </div>
    </section>
  )
}

/** The link of the row whose details are open. */
const openLink = () => document.querySelector<HTMLElement>('.row-link[aria-current]')

const StepButtons = ({ previous, next }: Steps) => (
  <>
    <IconButton label={words.common.previous} icon="up" disabled={!previous} onClick={previous} />
    <IconButton label={words.common.next} icon="chevron" disabled={!next} onClick={next} />
  </>
)
