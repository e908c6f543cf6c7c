/** A list page by page: its states, and the end that loads more. */
import type { ComponentProps, ReactNode } from 'react'
import { words } from '../words/words.ts'
import { LoadMore } from './load-more.tsx'
import { QueryView } from './page.tsx'

/** The result of `usePages`. */
export type Pages<Item> = ComponentProps<typeof LoadMore>['pages'] & {
  items: readonly Item[]
  data: unknown
  error: unknown
  refetch: () => unknown
}

type Props<Item> = {
  pages: Pages<Item>
  empty: ReactNode
  lines?: number
  children: (items: readonly Item[]) => ReactNode
}

/** A page can be empty although older ones match: the next ones load then. */
export function PagedList<Item>({ pages, empty, lines = 6, children }: Props<Item>) {
  const isEmpty = pages.items.length === 0
  return (
    <QueryView query={pages} lines={lines}>
      {() => (
        <>
          {!isEmpty && children(pages.items)}
          {isEmpty && !pages.hasNextPage && empty}
          {isEmpty && pages.hasNextPage && <p className="soft searching">{words.common.searching}</p>}
          <LoadMore pages={pages} />
        </>
      )}
    </QueryView>
  )
}
