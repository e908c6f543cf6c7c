/**
 * The messages of a conversation with its notes and activity lines, oldest at the top. Scrolling up loads more. Can scroll to a
 * specific message or note.
 */
import { Fragment, lazy, Suspense, useCallback, useDeferredValue, useEffect, useMemo, useRef, useState } from 'react'
import { useSearch } from 'wouter'
import { Button } from '../../../../ui/controls.tsx'
import { EmptyState } from '../../../../ui/display.tsx'
import { Icon } from '../../../../ui/icon.tsx'
import { useToast } from '../../../../ui/overlays.tsx'
import { useIsPainted } from '../../lib/hooks.ts'
import { nameOf } from '../../lib/people.ts'
import { useCanWrite, useSession } from '../../lib/session.tsx'
import { formatDay } from '../../lib/time.ts'
import { LoadMore, QueryState } from '../../ui/page.tsx'
import { words } from '../../words/words.ts'
import { useActions } from '../actions/actions.ts'
import type { Conversation, Entry, Message } from '../model/data.ts'
import { type useThread, useTimeline } from '../model/live-pages.ts'
import { VisitorTyping } from '../model/presence.tsx'
import { useScheduled } from '../model/scheduled.ts'
import type { Sending } from '../model/unconfirmed.ts'
import { Bubble } from './bubble.tsx'
import { groupThread, type MessageGroup, type Reactions, reactionsOf } from './message-groups.ts'
import { useRatingAnswers } from './rating-answers.ts'
import { type React, reactionsOn } from './reactions.tsx'
import { RunLink } from './run-link.tsx'
import { TimelineEntry } from './timeline-entry.tsx'
import { useThreadScroll } from './use-thread-scroll.ts'

const { thread, message } = words.inbox

/** Few conversations have any. Without a connection they are not shown. */
const ScheduledMessages = lazy(() => import('./scheduled.tsx').catch(() => ({ default: () => null })))

type Props = {
  conversation: Conversation
  pages: ReturnType<typeof useThread>
  sendings: readonly Sending[]
  /** Undefined if the channel does not support quotes or the reply window is closed. */
  onQuote: ((message: Message) => void) | undefined
  /** Undefined if the channel has no reactions or the reply window is closed. */
  onReact: React | undefined
  onResend: (message: Message) => void
}

type Timeline = ReturnType<typeof useTimeline>

export function Thread(props: Props) {
  const { pages } = props
  // Here, so that it loads together with the messages.
  const timeline = useTimeline(props.conversation.id)
  if (pages.data) return <MessageLog {...props} timeline={timeline} />
  return (
    <div className="inbox-messages-frame">
      <QueryState query={pages} lines={8} />
    </div>
  )
}

function MessageLog(props: Props & { timeline: Timeline }) {
  const { conversation, pages, sendings, onQuote, onReact, onResend, timeline } = props
  const { member } = useSession()
  const { isWhole, isQuiet } = useFirstScreen()
  const scheduled = useScheduled(conversation.id)
  const messages = useMemo(
    () => (isWhole ? pages.items : pages.items.slice(0, firstScreenCount())).toReversed(),
    [pages.items, isWhole],
  )
  const shown = useMemo(() => [...messages, ...sendings.map(({ message }) => message)], [messages, sendings])
  const entries = useEntries(timeline, messages[0]?.id, pages.hasNextPage || messages.length < pages.items.length)
  const isRated = timeline.items.some(({ kind }) => kind === 'rated')
  const answers = useRatingAnswers(conversation, messages, isRated)
  const days = useMemo(() => groupThread(shown, entries, member.id), [shown, entries, member.id])
  const reactions = useMemo(() => reactionsOf(shown), [shown])
  const scroll = useThreadScroll({ messages, outboxCount: sendings.length })
  const { highlightedId, reveal } = useReveal(messages, pages, scroll)
  const failed = useMemo(
    () => new Set(sendings.filter(({ state }) => state !== 'sending').map(({ message }) => message.id)),
    [sendings],
  )

  return (
    <div className="inbox-messages-frame">
      <div
        className="inbox-messages"
        ref={scroll.scroller}
        role="log"
        aria-live={isQuiet ? 'off' : 'polite'}
        aria-label={thread.messages}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it.
        tabIndex={0}
        onScroll={scroll.onScroll}
      >
        <div ref={scroll.content} className="inbox-messages-content">
          {isWhole && <LoadMore pages={pages} />}
          {days.length === 0 && <EmptyState icon="chat" title={thread.empty} />}
          {days.map((day) => (
            <section key={day.key} className="stack inbox-day">
              <h3>
                <span>{formatDay(day.at)}</span>
              </h3>
              {day.groups.map((group) =>
                'entry' in group ? (
                  <TimelineEntry
                    key={group.key}
                    entry={group.entry}
                    conversationId={conversation.id}
                    memberId={member.id}
                    isHighlighted={highlightedId === group.key}
                  />
                ) : (
                  <MessageGroupView
                    key={group.key}
                    group={group}
                    customer={nameOf(conversation.contact)}
                    reactionChoices={reactionsOn(conversation.channel)}
                    {...{ conversation, answers, reactions, highlightedId, failed, onQuote, onReact, onResend }}
                    onReveal={reveal}
                  />
                ),
              )}
            </section>
          ))}
          {isWhole && scheduled.length > 0 && (
            <Suspense>
              <ScheduledMessages conversation={conversation} />
            </Suspense>
          )}
          {conversation.channel === 'web' && (
            <VisitorTyping conversationId={conversation.id} name={nameOf(conversation.contact)} />
          )}
        </div>
      </div>
      {scroll.isAwayFromEnd && (
        <button
          type="button"
          className="line inbox-to-end small"
          data-news={scroll.newCount > 0 ? '' : undefined}
          onClick={scroll.scrollToEnd}
        >
          <Icon name="chevron" />
          {scroll.newCount > 0 ? (
            thread.newMessages(scroll.newCount)
          ) : (
            <span className="offscreen">{thread.toEnd}</span>
          )}
        </button>
      )}
    </div>
  )
}

/** No message is lower than this, with its distance to the next one. */
const minMessagePx = 52
/** The header and the reply box are at least this high. */
const otherPx = 160

/** The number of messages that fill the thread. */
const firstScreenCount = (): number => Math.ceil((window.innerHeight - otherPx) / minMessagePx)

/**
 * A thread first shows the messages of one screen, which halves the time to open a conversation, and the others after the paint.
 * `isQuiet`: screen readers do not announce those. A thread that opens at a specific message shows all at once.
 */
function useFirstScreen(): { isWhole: boolean; isQuiet: boolean } {
  const [hasTarget] = useState(() => new URLSearchParams(location.search).has('message'))
  const isPainted = useIsPainted()
  const isWhole = hasTarget || isPainted
  const isQuiet = !useDeferredValue(isWhole, false)
  return { isWhole, isQuiet }
}

/** The timeline entries among the loaded messages, oldest first. Entries before the oldest message wait until it has loaded. */
function useEntries(timeline: Timeline, oldestId: string | undefined, hasOlder: boolean): Entry[] {
  const { items, hasNextPage, isFetchingNextPage, fetchNextPage } = timeline
  const isBehind = hasNextPage && !isFetchingNextPage && (!hasOlder || (items.at(-1)?.id ?? '') > (oldestId ?? ''))
  useEffect(() => {
    if (isBehind) fetchNextPage()
  }, [isBehind, fetchNextPage])
  return useMemo(() => {
    const entries = items.toReversed()
    return hasOlder && oldestId ? entries.filter(({ id }) => id > oldestId) : entries
  }, [items, hasOlder, oldestId])
}

type MessageGroupProps = {
  group: MessageGroup
  conversation: Conversation
  answers: ReturnType<typeof useRatingAnswers>
  customer: string
  reactions: Reactions
  highlightedId: string
  failed: ReadonlySet<string>
  onQuote: ((message: Message) => void) | undefined
  reactionChoices: readonly string[]
  onReact: React | undefined
  onResend: (message: Message) => void
  onReveal: (id: string) => void
}

function MessageGroupView(props: MessageGroupProps) {
  const { group, conversation, answers, customer, reactions, highlightedId, failed, ...handlers } = props
  return (
    <div className="stack inbox-run" data-side={group.side}>
      {group.sender && (
        <p className="inbox-sender soft">
          <RunLink runId={group.messages[0]?.run_id}>{group.sender}</RunLink>
        </p>
      )}
      {group.messages.map((one) => (
        <Fragment key={one.id}>
          <Bubble
            message={one}
            sender={group.sender || customer}
            customer={customer}
            reactions={reactions.get(one.id)}
            isHighlighted={highlightedId === one.id}
            isLocal={failed.has(one.id)}
            {...handlers}
          />
          {answers.has(one.id) && <AnswerNote conversation={conversation} rating={answers.get(one.id) ?? null} />}
        </Fragment>
      ))}
    </div>
  )
}

/** Says that the message above was taken as an answer. A comment may be a question, but has not reopened the conversation. */
function AnswerNote({ conversation: { id, status }, rating }: { conversation: Conversation; rating: number | null }) {
  const actions = useActions(id)
  const canWrite = useCanWrite()
  return (
    <p className="line inbox-answer soft small">
      <Icon name="star" />
      <span>{rating === null ? message.comment : message.rating(rating)}</span>
      {rating === null && status === 'closed' && canWrite && (
        <Button
          label={words.inbox.commands.reopen}
          size="small"
          icon="refresh"
          onClick={() => actions.setStatus([id], 'open')}
        />
      )}
    </p>
  )
}

/** The number of older pages to load while searching for a message. */
const maxPages = 60
const highlightMs = 2_400

/** Scrolls to the message named in the URL or to a quoted message. Loads older pages until it is found. */
function useReveal(
  messages: readonly Message[],
  { hasNextPage, isFetchingNextPage, fetchNextPage }: ReturnType<typeof useThread>,
  { scroller, stopFollowing }: Pick<ReturnType<typeof useThreadScroll>, 'scroller' | 'stopFollowing'>,
) {
  const toast = useToast()
  const requestedId = new URLSearchParams(useSearch()).get('message') ?? ''
  const [target, setTarget] = useState(requestedId)
  const [highlightedId, setHighlightedId] = useState('')
  const pagesTried = useRef(0)
  const reveal = useCallback((id: string) => {
    pagesTried.current = 0
    setTarget(id)
  }, [])
  useEffect(() => {
    if (requestedId) reveal(requestedId)
  }, [requestedId, reveal])
  useEffect(() => {
    if (!target || messages.length === 0) return
    const element = scroller.current?.querySelector(`[data-message="${CSS.escape(target)}"]`)
    if (element) {
      stopFollowing()
      element.scrollIntoView({ block: 'center' })
      setHighlightedId(target)
      setTarget('')
    } else if (hasNextPage && pagesTried.current < maxPages) {
      if (isFetchingNextPage) return
      pagesTried.current += 1
      fetchNextPage()
    } else {
      setTarget('')
      toast.success(thread.notFound)
    }
  }, [target, messages, hasNextPage, isFetchingNextPage, fetchNextPage, scroller, stopFollowing, toast])
  useEffect(() => {
    if (!highlightedId) return
    const timer = setTimeout(() => setHighlightedId(''), highlightMs)
    return () => clearTimeout(timer)
  }, [highlightedId])
  return { highlightedId, reveal }
}
