/** A list whose rows stay in place while a member reads: new items are counted behind a button. */
import { type ReactNode, useEffect } from 'react'
import { Button } from '../../../ui/button.tsx'
import { Card } from '../../../ui/card.tsx'
import { LoadMore } from '../ui/load-more.tsx'
import { QueryView } from '../ui/page.tsx'
import { words } from '../words/words.ts'
import { countNewItems } from './new-items.ts'

type StillListProps = {
  /** The result of `usePages`. */
  pages: Parameters<typeof LoadMore>[0]['pages'] &
    Parameters<typeof countNewItems>[0] & { data: unknown; error: unknown; refetch: () => unknown }
  /** The first page, polled. */
  newest: Parameters<typeof countNewItems>[1]
  showNewText: (count: number, isMore: boolean) => string
  onShowNew: () => void
  empty: ReactNode
  children: ReactNode
}

export function StillList({ pages, newest, showNewText, onShowNew, empty, children }: StillListProps) {
  const { count, isMore } = countNewItems(pages, newest)
  const isEmpty = pages.items.length === 0
  // No row moves if there is none.
  // biome-ignore lint/correctness/useExhaustiveDependencies: `onShowNew` is a new function in each render.
  useEffect(() => {
    if (isEmpty && count > 0) onShowNew()
  }, [isEmpty, count])
  return (
    <Card flush>
      <QueryView query={pages}>
        {() => (
          <>
            <div aria-live="polite">
              {!isEmpty && count > 0 && (
                <div className="dev-new">
                  <Button size="small" icon="refresh" onClick={onShowNew}>
                    {showNewText(count, isMore)}
                  </Button>
                </div>
              )}
            </div>
            {isEmpty && !pages.hasNextPage && empty}
            {isEmpty && pages.hasNextPage && <p className="soft dev-searching">{words.developers.searching}</p>}
            {!isEmpty && children}
            <LoadMore pages={pages} />
          </>
        )}
      </QueryView>
    </Card>
  )
}
