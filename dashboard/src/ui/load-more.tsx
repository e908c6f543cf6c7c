/** The end of a paged list: fetches the next page when it scrolls into view or its button is pressed. */
import { useEffect, useRef } from 'react'
import { Button } from '../../../ui/button.tsx'
import { words } from '../words/words.ts'

type Pages = { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown }

export function LoadMore({ pages }: { pages: Pages }) {
  const ref = useRef<HTMLDivElement>(null)
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = pages
  useEffect(() => {
    const end = ref.current
    if (!end || !hasNextPage || isFetchingNextPage) return
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && fetchNextPage(), {
      rootMargin: '400px',
    })
    observer.observe(end)
    return () => observer.disconnect()
  }, [hasNextPage, isFetchingNextPage, fetchNextPage])
  if (!hasNextPage) return null
  return (
    <div ref={ref} className="row" style={{ justifyContent: 'center', padding: '0.75rem' }}>
      <Button busy={isFetchingNextPage} onClick={() => fetchNextPage()}>
        {words.common.more}
      </Button>
    </div>
  )
}
