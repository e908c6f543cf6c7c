/**
 * Where a thread stands. At its end it follows what comes; further up it stays
 * where it is, whatever comes at either end, and counts what is new.
 */
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react'

type Shown = {
  /** Oldest first. */
  messages: readonly { id: string }[]
  /** How many of one's own are on their way. */
  sendings: number
}

/** So near to the end counts as there. */
const nearPx = 64
/** So far away there is a button back. */
const farPx = 320

export function useFollowing({ messages, sendings }: Shown) {
  const scroller = useRef<HTMLDivElement>(null)
  const content = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  const before = useRef({ first: '', last: '', sendings: 0, height: 0 })
  const [news, setNews] = useState(0)
  const [isFar, setFar] = useState(false)

  const toEnd = useCallback(() => {
    const { current: element } = scroller
    if (element) element.scrollTop = element.scrollHeight
    isAtEnd.current = true
    setNews(0)
    setFar(false)
  }, [])
  /** Somebody goes elsewhere: from now on nothing pulls them to the end. */
  const leaveEnd = useCallback(() => {
    isAtEnd.current = false
  }, [])
  const onScroll = useCallback(() => {
    const { current: element } = scroller
    if (!element) return
    const left = element.scrollHeight - element.scrollTop - element.clientHeight
    isAtEnd.current = left < nearPx
    setFar(left > farPx)
    if (isAtEnd.current) setNews(0)
  }, [])

  useLayoutEffect(() => {
    const { current: element } = scroller
    if (!element) return
    const was = before.current
    const first = messages[0]?.id ?? ''
    const last = messages.at(-1)?.id ?? ''
    before.current = { first, last, sendings, height: element.scrollHeight }
    if (!was.last || isAtEnd.current || sendings > was.sendings) return toEnd()
    // What came above moves nothing that is seen.
    if (was.first !== first) element.scrollTop += element.scrollHeight - was.height
    const added = messages.length - 1 - messages.findLastIndex(({ id }) => id === was.last)
    if (added > 0) setNews((count) => count + added)
  }, [messages, sendings, toEnd])

  // What grows while one is at the end (an image, the place to write) does not push the end out of sight.
  useEffect(() => {
    const observer = new ResizeObserver(() => {
      if (isAtEnd.current) toEnd()
      if (scroller.current) before.current.height = scroller.current.scrollHeight
    })
    for (const { current: element } of [scroller, content]) if (element) observer.observe(element)
    return () => observer.disconnect()
  }, [toEnd])

  return { scroller, content, onScroll, toEnd, leaveEnd, news, isAway: isFar || news > 0 }
}
