/** The open conversation: header, thread, reply area and contact panel. Marks the conversation as read while the window is visible. */
import { useCallback, useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { Button } from '../../../ui/controls.tsx'
import { EmptyState, Skeleton } from '../../../ui/display.tsx'
import { useToast } from '../../../ui/overlays.tsx'
import { call, invalidate, isNotFound } from '../lib/api.ts'
import { useConnectionOf } from '../lib/connections.ts'
import { useIsPainted } from '../lib/hooks.ts'
import { nameOf } from '../lib/people.ts'
import { useViewing } from '../lib/presence.ts'
import { useCanWrite, useMe, useSession } from '../lib/session.tsx'
import { useTitle } from '../lib/title.ts'
import { QueryState, ViewerNote } from '../ui/page.tsx'
import { words } from '../words/words.ts'
import { Composer } from './composer/composer.tsx'
import { replyWindowOf } from './composer/reply-rules.ts'
import { Drawer } from './drawer.tsx'
import { changeConversations, useConversation } from './model/conversations.ts'
import type { Conversation, Message } from './model/data.ts'
import { hrefOf } from './model/filters.ts'
import { useThread } from './model/live-pages.ts'
import { forgetKeptUnread, isKeptUnread } from './model/moderation.ts'
import { moveSendings, resendMessage, send, useSendings } from './model/outbox.ts'
import { moveDraft } from './model/reply-drafts.ts'
import { useReadMentions } from './model/unread-mentions.ts'
import type { ContactPanelState } from './model/use-side-panel.ts'
import { ContactPanel } from './panel/contact-panel.tsx'
import { BotBanner } from './thread/bot-banner.tsx'
import { reactionsOn } from './thread/reactions.tsx'
import { HasFormatting } from './thread/text.tsx'
import { Thread } from './thread/thread.tsx'
import { ThreadHead } from './thread/thread-head.tsx'

type Props = { id: string; onBack: () => void; contactPanel: ContactPanelState }

export function ConversationView({ id, onBack, contactPanel }: Props) {
  const { query, conversation } = useConversation(id)
  const isVisible = useVisible()
  useFollowMerge(id, query.data?.id)
  // The view has the key of its conversation: this runs when another one is opened.
  useEffect(() => forgetKeptUnread, [])
  const isPainted = useIsPainted()
  useMarkAsRead(conversation, isVisible && isPainted)
  useReadMentions(id, isVisible && isPainted)
  useViewing(id)
  if (isNotFound(query.error)) return <NotFound onBack={onBack} />
  if (!conversation) {
    return (
      <section className="inbox-thread" aria-label={words.inbox.thread.label}>
        <QueryState query={query} lines={8} />
      </section>
    )
  }
  const panel = <ContactPanel id={conversation.contact_id} conversationId={id} />
  return (
    <>
      <Title name={nameOf(conversation.contact)} />
      <ThreadPane conversation={conversation} onBack={onBack} contactPanel={contactPanel} />
      {contactPanel.isDocked && (
        <aside className="inbox-panel" aria-label={words.inbox.contact.label}>
          {isPainted ? panel : <Skeleton lines={8} />}
        </aside>
      )}
      {contactPanel.isDrawerOpen && (
        <Drawer label={words.inbox.contact.label} close={words.inbox.contact.close} onClose={contactPanel.toggle}>
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

const NotFound = ({ onBack }: { onBack: () => void }) => (
  <section className="inbox-thread inbox-gone" aria-label={words.inbox.thread.label}>
    <EmptyState
      icon="chat"
      title={words.inbox.thread.notFoundTitle}
      text={words.inbox.thread.notFoundText}
      action={<Button label={words.inbox.thread.back} icon="back" onClick={onBack} />}
    />
  </section>
)

/** Opens the conversation that has the content of this one. The service answers with it after another member merged the contact. */
function useFollowMerge(id: string, answeredId = id): void {
  const [, navigate] = useLocation()
  const toast = useToast()
  useEffect(() => {
    if (answeredId === id) return
    moveDraft(id, answeredId)
    moveSendings(id, answeredId)
    toast.success(words.inbox.thread.merged)
    navigate(hrefOf(location.search, answeredId), { replace: true })
  }, [id, answeredId, navigate, toast])
}

/**
 * Marks the conversation as read, unless the member is a viewer: when it is opened and when a message arrives while the window is visible.
 * One that is assigned to another member stays unread: its assignee has not seen the messages.
 */
function useMarkAsRead(conversation: Conversation | undefined, isVisible: boolean): void {
  const canWrite = useCanWrite()
  const { id: memberId } = useSession().member
  const isUnread = (conversation?.unread_count ?? 0) > 0
  useEffect(() => {
    if (!conversation || !isUnread || !isVisible || !canWrite || isKeptUnread(conversation)) return
    const { id, last_message_at: seenAt, assigned_agent_id: agentId } = conversation
    if (agentId !== null && agentId !== memberId) return
    // A message that arrives while the call is in flight is unread.
    const patch = (row: Conversation) => (row.last_message_at === seenAt ? { unread_count: 0 } : {})
    const read = () => call('POST /conversations/{id}/read', { params: { id } }).catch(() => {})
    void changeConversations(new Map([[id, conversation]]), patch, memberId, read).then(() =>
      invalidate({ queryKey: ['GET /conversations/counts'] }),
    )
  }, [conversation, isUnread, isVisible, canWrite, memberId])
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

type ThreadPaneProps = { conversation: Conversation; onBack: () => void; contactPanel: ContactPanelState }

/** The header, the thread and the reply area. */
function ThreadPane({ conversation, onBack, contactPanel }: ThreadPaneProps) {
  const me = useMe()
  const canWrite = useCanWrite()
  const pages = useThread(conversation.id)
  const sendings = useSendings(conversation.id, pages.items)
  const [quoted, setQuoted] = useState<Message>()
  const clearQuote = useCallback(() => setQuoted(undefined), [])
  const resend = useCallback((message: Message) => resendMessage(message, me), [me])
  const { isDisconnected } = useConnectionOf(conversation)
  const isBlocked = conversation.blocked_at !== null
  const isWindowOpen =
    canWrite && !isDisconnected && !isBlocked && replyWindowOf(conversation, Date.now()).state !== 'closed'
  const canQuote = conversation.channel !== 'web' && isWindowOpen
  const canReact = reactionsOn(conversation.channel).length > 0 && isWindowOpen
  const toast = useToast()
  const react = useCallback(
    ({ id, conversation_id: conversationId }: Message, emoji: string) =>
      send({
        conversationId,
        body: { type: 'reaction', reaction: { message_id: id, emoji } },
        sender: me,
        onFailed: toast.error,
      }),
    [me, toast],
  )
  return (
    <section className="inbox-thread" aria-label={words.inbox.thread.label}>
      <ThreadHead conversation={conversation} onBack={onBack} contactPanel={contactPanel} />
      {conversation.handled_by === 'bot' && <BotBanner conversation={conversation} />}
      <HasFormatting value={conversation.channel !== 'social'}>
        <Thread
          conversation={conversation}
          pages={pages}
          sendings={sendings}
          onQuote={canQuote ? setQuoted : undefined}
          onReact={canReact ? react : undefined}
          onResend={resend}
        />
        {canWrite ? (
          <Composer
            conversation={conversation}
            messages={pages.data && pages.items}
            quoted={quoted}
            onQuoteDone={clearQuote}
          />
        ) : (
          <footer className="inbox-composer">
            <ViewerNote />
          </footer>
        )}
      </HasFormatting>
    </section>
  )
}
