/**
 * Scroll position of a thread. At the end, the thread follows new messages. Further up, it keeps its position when messages
 * are added at either end, and counts the new ones.
 */
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react'

type Shown = {
  /** Oldest first. */
  messages: readonly { id: string }[]
  /** The number of messages in the outbox. */
  outboxCount: number
}

/** Within this distance the thread counts as scrolled to the end. */
const nearPx = 64
/** Beyond this distance the button to the newest message is shown. */
const farPx = 320

export function useThreadScroll({ messages, outboxCount }: Shown) {
  const scroller = useRef<HTMLDivElement>(null)
  const content = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  const before = useRef({ first: '', last: '', outboxCount: 0, height: 0 })
  const [newCount, setNewCount] = useState(0)
  const [isFar, setFar] = useState(false)

  const scrollToEnd = useCallback(() => {
    const { current: element } = scroller
    if (element) element.scrollTop = element.scrollHeight
    isAtEnd.current = true
    setNewCount(0)
    setFar(false)
  }, [])
  /** Stops following new messages, before scrolling to a specific message. */
  const stopFollowing = useCallback(() => {
    isAtEnd.current = false
  }, [])
  const onScroll = useCallback(() => {
    const { current: element } = scroller
    if (!element) return
    const left = element.scrollHeight - element.scrollTop - element.clientHeight
    isAtEnd.current = left < nearPx
    setFar(left > farPx)
    if (isAtEnd.current) setNewCount(0)
  }, [])

  useLayoutEffect(() => {
    const { current: element } = scroller
    if (!element) return
    const was = before.current
    const first = messages[0]?.id ?? ''
    const last = messages.at(-1)?.id ?? ''
    before.current = { first, last, outboxCount, height: element.scrollHeight }
    if (!was.last || isAtEnd.current || outboxCount > was.outboxCount) return scrollToEnd()
    // Older messages were added above: keeps the visible messages in place.
    if (was.first !== first) element.scrollTop += element.scrollHeight - was.height
    const added = messages.length - 1 - messages.findLastIndex(({ id }) => id === was.last)
    if (added > 0) setNewCount((count) => count + added)
  }, [messages, outboxCount, scrollToEnd])

  // An image that loads or a growing reply box must not push the end out of view.
  useEffect(() => {
    const observer = new ResizeObserver(() => {
      if (isAtEnd.current) scrollToEnd()
      if (scroller.current) before.current.height = scroller.current.scrollHeight
    })
    for (const { current: element } of [scroller, content]) if (element) observer.observe(element)
    return () => observer.disconnect()
  }, [scrollToEnd])

  return { scroller, content, onScroll, scrollToEnd, stopFollowing, newCount, isAwayFromEnd: isFar || newCount > 0 }
}
