/**
 * The inbox: who wrote, what was said, who they are. Side by side where there
 * is room; on a phone one after the other. Which conversation and which list
 * is said by the address.
 */
import './inbox.css'
import { useCallback, useEffect, useRef } from 'react'
import { useLocation, useRoute } from 'wouter'
import { Empty } from '../../../ui/state.tsx'
import { Checklist } from '../checklist/checklist.tsx'
import { useLiveState } from '../lib/live.tsx'
import { useShortcuts } from '../lib/shortcuts.ts'
import { useTitle } from '../ui/page.tsx'
import { words } from '../words/words.ts'
import { hrefOf } from './filters.ts'
import { useFolding } from './folding.ts'
import { ListPane } from './list-pane.tsx'
import { Opened } from './opened.tsx'
import { focusSearch, moveInList, rowOf } from './rows.ts'

export default function Inbox() {
  useTitle(words.inbox.title)
  const [, params] = useRoute('/inbox/:id')
  const id = params?.id ?? ''
  const [, navigate] = useLocation()
  const folding = useFolding()
  const cameFrom = useRef('')

  const back = useCallback(() => {
    cameFrom.current = id
    navigate(hrefOf(location.search, ''))
  }, [id, navigate])
  // Whoever goes back finds the row they came from.
  useEffect(() => {
    if (!id && cameFrom.current) rowOf(cameFrom.current)?.focus()
  }, [id])
  useShortcuts({
    j: () => moveInList(1, id),
    k: () => moveInList(-1, id),
    '/': focusSearch,
    ...(id ? { u: back, i: folding.toggle } : {}),
  })

  return (
    <div className="inbox" data-open={id ? '' : undefined} data-panel={id && folding.isBeside ? '' : undefined}>
      <h1 className="offscreen">{words.inbox.title}</h1>
      <LineBanner />
      <ListPane openId={id} />
      {id ? (
        <Opened key={id} id={id} onBack={back} folding={folding} />
      ) : (
        <section className="inbox-thread inbox-none" aria-label={words.inbox.thread.label}>
          <Empty icon="chat" title={words.inbox.thread.none}>
            {words.inbox.thread.noneText}
          </Empty>
          <Checklist slim />
        </section>
      )}
    </div>
  )
}

function LineBanner() {
  if (useLiveState() !== 'broken') return null
  return (
    <p className="inbox-banner" role="status">
      {words.inbox.broken}
    </p>
  )
}
