/** What was said, oldest at the top. More comes when one scrolls up; a message can be gone to, wherever it is. */
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { useSearch } from 'wouter'
import { Icon } from '../../../ui/icon.tsx'
import { Empty, Skeleton } from '../../../ui/state.tsx'
import { useToast } from '../../../ui/toast.tsx'
import { nameOf } from '../lib/people.ts'
import { useSession } from '../lib/session.tsx'
import { formatDay } from '../lib/time.ts'
import { More } from '../ui/more.tsx'
import { Failure } from '../ui/page.tsx'
import { words } from '../words/words.ts'
import { arrange, type Reactions, type Run, reactionsOf } from './arrange.ts'
import { Bubble } from './bubble.tsx'
import type { Conversation, Message } from './data.ts'
import { useFollowing } from './following.ts'
import type { useThread } from './live-pages.ts'
import type { Sending } from './outbox.ts'

const { thread } = words.inbox

type Props = {
  conversation: Conversation
  pages: ReturnType<typeof useThread>
  sendings: readonly Sending[]
  /** Absent: the channel has no quotes. */
  onQuote: ((message: Message) => void) | undefined
  onAgain: (message: Message) => void
}

export function Thread(props: Props) {
  const { pages } = props
  if (pages.data) return <Said {...props} />
  return (
    <div className="inbox-messages-frame">
      {pages.error ? <Failure error={pages.error} onRetry={() => void pages.refetch()} /> : <Skeleton lines={8} />}
    </div>
  )
}

function Said({ conversation, pages, sendings, onQuote, onAgain }: Props) {
  const { member } = useSession()
  const messages = useMemo(() => pages.items.toReversed(), [pages.items])
  const shown = useMemo(() => [...messages, ...sendings.map(({ message }) => message)], [messages, sendings])
  const days = useMemo(() => arrange(shown, member.id), [shown, member.id])
  const reactions = useMemo(() => reactionsOf(messages), [messages])
  const follow = useFollowing({ messages, sendings: sendings.length })
  const { lit, reveal } = useReveal(messages, pages, follow)
  const failed = useMemo(
    () => new Set(sendings.filter(({ state }) => state !== 'sending').map(({ key }) => key)),
    [sendings],
  )

  return (
    <div className="inbox-messages-frame">
      <div
        className="inbox-messages"
        ref={follow.scroller}
        role="log"
        aria-label={thread.messages}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it.
        tabIndex={0}
        onScroll={follow.onScroll}
      >
        <div ref={follow.content} className="inbox-messages-content">
          <More pages={pages} />
          {shown.length === 0 && <Empty icon="chat" title={thread.empty} />}
          {days.map((day) => (
            <section key={day.key} className="inbox-day">
              <h3>
                <span>{formatDay(day.at)}</span>
              </h3>
              {day.runs.map((run) => (
                <RunOf
                  key={run.key}
                  run={run}
                  customer={nameOf(conversation.contact)}
                  {...{ reactions, lit, failed, onQuote, onAgain }}
                  onReveal={reveal}
                />
              ))}
            </section>
          ))}
        </div>
      </div>
      {follow.isAway && (
        <button
          type="button"
          className="inbox-to-end"
          data-news={follow.news > 0 ? '' : undefined}
          onClick={follow.toEnd}
        >
          <Icon name="chevron" />
          {follow.news > 0 ? thread.newMessages(follow.news) : <span className="offscreen">{thread.toEnd}</span>}
        </button>
      )}
    </div>
  )
}

type RunProps = {
  run: Run
  customer: string
  reactions: Reactions
  lit: string
  failed: ReadonlySet<string>
  onQuote: ((message: Message) => void) | undefined
  onAgain: (message: Message) => void
  onReveal: (id: string) => void
}

function RunOf({ run, customer, reactions, lit, failed, onQuote, onAgain, onReveal }: RunProps) {
  return (
    <div className="inbox-run" data-side={run.side}>
      {run.sender && <p className="inbox-sender">{run.sender}</p>}
      {run.messages.map((message) => (
        <Bubble
          key={message.id}
          message={message}
          sender={run.sender || customer}
          customer={customer}
          reactions={reactions.get(message.id)}
          isLit={lit === message.id}
          isLocal={failed.has(message.id)}
          {...{ onQuote, onAgain, onReveal }}
        />
      ))}
    </div>
  )
}

/** So many pages are looked through for a message. */
const mostPages = 60
const litMs = 2_400

/** Go to a message: of the address, or one that was quoted. Older pages are asked for until it is there. */
function useReveal(
  messages: readonly Message[],
  { hasNextPage, isFetchingNextPage, fetchNextPage }: ReturnType<typeof useThread>,
  { scroller, leaveEnd }: Pick<ReturnType<typeof useFollowing>, 'scroller' | 'leaveEnd'>,
) {
  const toast = useToast()
  const asked = new URLSearchParams(useSearch()).get('message') ?? ''
  const [target, setTarget] = useState(asked)
  const [lit, setLit] = useState('')
  const tries = useRef(0)
  const reveal = useCallback((id: string) => {
    tries.current = 0
    setTarget(id)
  }, [])
  useEffect(() => {
    if (asked) reveal(asked)
  }, [asked, reveal])
  useEffect(() => {
    if (!target || messages.length === 0) return
    const place = scroller.current?.querySelector(`[data-message="${CSS.escape(target)}"]`)
    if (place) {
      leaveEnd()
      place.scrollIntoView({ block: 'center' })
      setLit(target)
      setTarget('')
    } else if (hasNextPage && tries.current < mostPages) {
      if (isFetchingNextPage) return
      tries.current += 1
      fetchNextPage()
    } else {
      setTarget('')
      toast.done(thread.notFound)
    }
  }, [target, messages, hasNextPage, isFetchingNextPage, fetchNextPage, scroller, leaveEnd, toast])
  useEffect(() => {
    if (!lit) return
    const timer = setTimeout(() => setLit(''), litMs)
    return () => clearTimeout(timer)
  }, [lit])
  return { lit, reveal }
}
