/** A conversation: its head, what was said, and where to answer. */
import { useCallback, useState } from 'react'
import { words } from '../words/words.ts'
import { Composer } from './composer.tsx'
import type { Conversation, Message } from './data.ts'
import type { Folding } from './folding.ts'
import { useThread } from './live-pages.ts'
import { useMe } from './me.ts'
import { sendAgain, useSendings } from './outbox.ts'
import { Thread } from './thread.tsx'
import { ThreadHead } from './thread-head.tsx'
import { writingOf } from './writing.ts'

type Props = { conversation: Conversation; onBack: () => void; folding: Folding }

export function ThreadPane({ conversation, onBack, folding }: Props) {
  const me = useMe()
  const pages = useThread(conversation.id)
  const sendings = useSendings(conversation.id, pages.items, me.id)
  const [quoted, setQuoted] = useState<Message>()
  const quote = useCallback((message: Message) => {
    setQuoted(message)
    document.querySelector<HTMLTextAreaElement>('.inbox-composer textarea')?.focus()
  }, [])
  const dropQuote = useCallback(() => setQuoted(undefined), [])
  const again = useCallback((message: Message) => sendAgain(message, me), [me])
  const canQuote = conversation.channel !== 'web' && writingOf(conversation, Date.now()).is !== 'closed'
  return (
    <section className="inbox-thread" aria-label={words.inbox.thread.label}>
      <ThreadHead conversation={conversation} onBack={onBack} folding={folding} />
      <Thread
        conversation={conversation}
        pages={pages}
        sendings={sendings}
        onQuote={canQuote ? quote : undefined}
        onAgain={again}
      />
      <Composer
        conversation={conversation}
        newestId={pages.items[0]?.id ?? ''}
        quoted={quoted}
        onQuoteDone={dropQuote}
      />
    </section>
  )
}
