/** Hooks that several pages share. */
import { startTransition, useCallback, useEffect, useState, useSyncExternalStore } from 'react'
import { useSearch } from 'wouter'
import { navigate } from 'wouter/use-browser-location'

/** Debounces a value: returns it once it has not changed for `delayMs`. */
export function useDebounced<Value>(value: Value, delayMs = 200): Value {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), delayMs)
    return () => clearTimeout(timer)
  }, [value, delayMs])
  return settled
}

/** A hidden page does not paint. */
const hiddenPaintMs = 200

/** False until the first paint of the component: for parts that may appear a frame later than the rest. */
export function useIsPainted(): boolean {
  const [isPainted, setPainted] = useState(false)
  useEffect(() => {
    const show = () => startTransition(() => setPainted(true))
    let timer = setTimeout(show, hiddenPaintMs)
    const frame = requestAnimationFrame(() => {
      clearTimeout(timer)
      // The frame is painted before the next task.
      timer = setTimeout(show)
    })
    return () => {
      cancelAnimationFrame(frame)
      clearTimeout(timer)
    }
  }, [])
  return isPainted
}

/** A query parameter of the page's URL as state, so that reloading and sharing keep it. An empty value removes it. */
export function useSearchParam(name: string): [string, (value: string) => void] {
  const search = useSearch()
  const value = new URLSearchParams(search).get(name) ?? ''
  const set = useCallback(
    (next: string) => {
      const query = new URLSearchParams(location.search)
      if (next) query.set(name, next)
      else query.delete(name)
      const text = query.toString()
      navigate(`${location.pathname}${text ? `?${text}` : ''}`, { replace: true })
    },
    [name],
  )
  return [value, set]
}

/** The current time, updated every `everyMs`. */
export function useNow(everyMs = 1_000): number {
  const [now, setNow] = useState(Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return now
}

const followNetwork = (listener: () => void) => {
  for (const name of ['online', 'offline']) addEventListener(name, listener)
  return () => {
    for (const name of ['online', 'offline']) removeEventListener(name, listener)
  }
}

/** Whether the browser has a network. */
export const useOnline = (): boolean => useSyncExternalStore(followNetwork, () => navigator.onLine)
