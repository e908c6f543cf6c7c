/** The open conversation: header, thread and reply area. */
import { useCallback, useState } from 'react'
import { useToast } from '../../../ui/overlays.tsx'
import { useCanWrite } from '../lib/session.tsx'
import { ViewerNote } from '../ui/page.tsx'
import { words } from '../words/words.ts'
import { Composer } from './composer/composer.tsx'
import { replyWindowOf } from './composer/reply-rules.ts'
import type { Conversation, Message } from './model/data.ts'
import { useThread } from './model/live-pages.ts'
import { useMe } from './model/me.ts'
import { resendMessage, send, useSendings } from './model/outbox.ts'
import type { ContactPanelState } from './model/use-contact-panel.ts'
import { reactionsOn } from './thread/reactions.tsx'
import { HasFormatting } from './thread/text.tsx'
import { Thread } from './thread/thread.tsx'
import { ThreadHead } from './thread/thread-head.tsx'

type Props = { conversation: Conversation; onBack: () => void; contactPanel: ContactPanelState }

export function ThreadPane({ conversation, onBack, contactPanel }: Props) {
  const me = useMe()
  const canWrite = useCanWrite()
  const pages = useThread(conversation.id)
  const sendings = useSendings(conversation.id, pages.items)
  const [quoted, setQuoted] = useState<Message>()
  const clearQuote = useCallback(() => setQuoted(undefined), [])
  const resend = useCallback((message: Message) => resendMessage(message, me), [me])
  const isWindowOpen = canWrite && replyWindowOf(conversation, Date.now()).state !== 'closed'
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
      <HasFormatting value={conversation.channel !== 'social'}>
        <Thread
          conversation={conversation}
          pages={pages}
          sendings={sendings}
          onQuote={canQuote ? setQuoted : undefined}
          onReact={canReact ? react : undefined}
          onResend={resend}
        />
      </HasFormatting>
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
    </section>
  )
}
