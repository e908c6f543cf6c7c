/**
 * The inbox: conversation list, thread and contact panel, side by side on a wide window and one at a time on a phone. The URL
 * holds the open conversation and the filters.
 */
import './inbox.css'
import './list.css'
import './thread.css'
import './content.css'
import './composer.css'
import './together.css'
import './contact-panel.css'
import './writing.css'
import './narrow.css'
import { useCallback, useEffect, useRef } from 'react'
import { useLocation, useRoute } from 'wouter'
import { EmptyState } from '../../../ui/state.tsx'
import { Checklist } from '../checklist/checklist.tsx'
import { useLiveState } from '../lib/live.tsx'
import { useShortcuts } from '../lib/shortcuts.ts'
import { useTitle } from '../ui/page.tsx'
import { words } from '../words/words.ts'
import { ConversationView } from './conversation-view.tsx'
import { hrefOf } from './filters.ts'
import { focusSearch, moveInList, rowOf } from './list-focus.ts'
import { ListPane } from './list-pane.tsx'
import { DraftSync } from './reply-drafts.ts'
import { useContactPanel } from './use-contact-panel.ts'

export default function Inbox() {
  useTitle(words.inbox.title)
  const [, params] = useRoute('/inbox/:id')
  const id = params?.id ?? ''
  const [, navigate] = useLocation()
  const contactPanel = useContactPanel()
  const lastOpenId = useRef('')

  const back = useCallback(() => {
    lastOpenId.current = id
    navigate(hrefOf(location.search, ''))
  }, [id, navigate])
  // Going back restores the focus to the row of the closed conversation.
  useEffect(() => {
    if (!id && lastOpenId.current) rowOf(lastOpenId.current)?.focus()
  }, [id])
  useShortcuts({
    j: () => moveInList(1, id),
    k: () => moveInList(-1, id),
    '/': focusSearch,
    ...(id ? { u: back, i: contactPanel.toggle } : {}),
  })

  return (
    <div className="inbox" data-open={id ? '' : undefined} data-panel={id && contactPanel.isDocked ? '' : undefined}>
      <h1 className="offscreen">{words.inbox.title}</h1>
      <ConnectionBanner />
      <DraftSync />
      <ListPane openId={id} />
      {id ? (
        <ConversationView key={id} id={id} onBack={back} contactPanel={contactPanel} />
      ) : (
        <section className="inbox-thread inbox-none" aria-label={words.inbox.thread.label}>
          <EmptyState icon="chat" title={words.inbox.thread.none}>
            {words.inbox.thread.noneText}
          </EmptyState>
          <Checklist slim />
        </section>
      )}
    </div>
  )
}

function ConnectionBanner() {
  if (useLiveState() !== 'reconnecting') return null
  return (
    <p className="inbox-banner" role="status">
      {words.inbox.connectionLost}
    </p>
  )
}
