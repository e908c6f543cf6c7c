/**
 * The open conversation: its thread, and who it is with. It is read as long as
 * somebody may be looking: when it is opened, and when something comes while
 * the window is visible.
 */
import { useEffect, useState } from 'react'
import { Button } from '../../../ui/button.tsx'
import { Empty, Skeleton } from '../../../ui/state.tsx'
import { CallError, useCall, useChange } from '../lib/api.ts'
import { nameOf } from '../lib/people.ts'
import { Failure, useTitle } from '../ui/page.tsx'
import { words } from '../words/words.ts'
import { ContactPanel } from './contact-panel.tsx'
import { type Conversation, findConversation, showChange } from './data.ts'
import { Drawer } from './drawer.tsx'
import type { Folding } from './folding.ts'
import { ThreadPane } from './thread-pane.tsx'

type Props = { id: string; onBack: () => void; folding: Folding }

export function Opened({ id, onBack, folding }: Props) {
  const asked = useCall('GET /conversations/{id}', { params: { id } }, { live: true })
  const [listed] = useState(() => findConversation(id))
  const conversation = asked.data ?? listed
  useReading(conversation)
  if (asked.error instanceof CallError && asked.error.status === 404) return <Gone onBack={onBack} />
  if (!conversation) {
    return (
      <section className="inbox-thread" aria-label={words.inbox.thread.label}>
        {asked.error ? <Failure error={asked.error} onRetry={() => void asked.refetch()} /> : <Skeleton lines={8} />}
      </section>
    )
  }
  const panel = <ContactPanel id={conversation.contact_id} conversationId={id} />
  return (
    <>
      <Title name={nameOf(conversation.contact)} />
      <ThreadPane conversation={conversation} onBack={onBack} folding={folding} />
      {folding.isBeside && (
        <aside className="inbox-panel" aria-label={words.inbox.contact.label}>
          {panel}
        </aside>
      )}
      {folding.isOver && (
        <Drawer label={words.inbox.contact.label} onClose={folding.toggle}>
          {panel}
        </Drawer>
      )}
    </>
  )
}

function Title({ name }: { name: string }) {
  useTitle(words.inbox.titleOf(name))
  return null
}

const Gone = ({ onBack }: { onBack: () => void }) => (
  <section className="inbox-thread inbox-gone" aria-label={words.inbox.thread.label}>
    <Empty
      icon="chat"
      title={words.inbox.thread.gone}
      action={
        <Button icon="back" onClick={onBack}>
          {words.inbox.thread.back}
        </Button>
      }
    >
      {words.inbox.thread.goneText}
    </Empty>
  </section>
)

/** Nothing in it stays unread while somebody sees it. */
function useReading(conversation: Conversation | undefined): void {
  const isVisible = useVisible()
  const { mutate } = useChange('POST /conversations/{id}/read', { stale: ['GET /conversations/counts'] })
  const id = conversation?.id
  const isUnread = (conversation?.unread_count ?? 0) > 0
  // When the newest came: what comes while a call is under way is read by the next.
  const at = conversation?.last_message_at
  // biome-ignore lint/correctness/useExhaustiveDependencies: every new message is a reason.
  useEffect(() => {
    if (!id || !isUnread || !isVisible) return
    showChange(id, { unread_count: 0 })
    mutate({ params: { id } })
  }, [id, isUnread, isVisible, at, mutate])
}

function useVisible(): boolean {
  const [isVisible, setVisible] = useState(document.visibilityState === 'visible')
  useEffect(() => {
    const change = () => setVisible(document.visibilityState === 'visible')
    document.addEventListener('visibilitychange', change)
    return () => document.removeEventListener('visibilitychange', change)
  }, [])
  return isVisible
}
