/** Hooks that several pages share. */
import { type DragEvent, startTransition, useCallback, useEffect, useState, useSyncExternalStore } from 'react'
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

/** The props of an element on which files are dropped. While a file is over it, it has `data-over`. */
export function useFileDrop(onDrop: (files: File[]) => void) {
  const [isOver, setOver] = useState(false)
  return {
    'data-over': isOver ? '' : undefined,
    onDragOver: (event: DragEvent) => {
      event.preventDefault()
      setOver(true)
    },
    onDragLeave: () => setOver(false),
    onDrop: (event: DragEvent) => {
      event.preventDefault()
      setOver(false)
      onDrop([...event.dataTransfer.files])
    },
  }
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

function setSearchParam(name: string, value: string): void {
  const query = new URLSearchParams(location.search)
  if (value) query.set(name, value)
  else query.delete(name)
  const text = query.toString()
  navigate(`${location.pathname}${text ? `?${text}` : ''}`, { replace: true })
}

/** A query parameter of the page's URL as state, so that reloading and sharing keep it. An empty value removes it. */
export function useSearchParam(name: string): [string, (value: string) => void] {
  const value = new URLSearchParams(useSearch()).get(name) ?? ''
  return [value, useCallback((next: string) => setSearchParam(name, next), [name])]
}

/**
 * The filters of a list, in the URL. `query` has those that are set; a typed one counts once the member stops typing. `bind` connects
 * one with its input.
 */
export function useUrlFilters<Chosen extends string, Typed extends string>(
  chosen: readonly Chosen[],
  typed: readonly Typed[],
) {
  const values = new URLSearchParams(useSearch())
  const read = (name: string) => values.get(name) ?? ''
  const settled = useDebounced(typed.map((name) => read(name).trim()).join('\n')).split('\n')
  const entries = [
    ...chosen.map((name) => [name, read(name)] as const),
    ...typed.map((name, index) => [name, settled[index] ?? ''] as const),
  ].filter(([, value]) => value)
  return {
    query: Object.fromEntries(entries) as { [Name in Chosen | Typed]?: string },
    isFiltered: entries.length > 0,
    bind: (name: Chosen | Typed) => ({
      value: read(name),
      onChange: (event: { target: { value: string } }) => setSearchParam(name, event.target.value),
    }),
    set: (name: Chosen | Typed, value: string) => setSearchParam(name, value),
    clear: () => {
      for (const name of [...chosen, ...typed]) setSearchParam(name, '')
    },
  }
}

/** Whether a media query matches. */
export function useMedia(query: string): boolean {
  const subscribe = useCallback(
    (listener: () => void) => {
      const media = matchMedia(query)
      media.addEventListener('change', listener)
      return () => media.removeEventListener('change', listener)
    },
    [query],
  )
  return useSyncExternalStore(subscribe, () => matchMedia(query).matches)
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

const minuteMs = 60_000
const minuteListeners = new Set<() => void>()
let minuteTimer: ReturnType<typeof setInterval> | undefined
const followMinutes = (listener: () => void) => {
  minuteListeners.add(listener)
  minuteTimer ??= setInterval(() => {
    for (const each of minuteListeners) each()
  }, minuteMs / 6)
  return () => {
    minuteListeners.delete(listener)
    if (minuteListeners.size > 0) return
    clearInterval(minuteTimer)
    minuteTimer = undefined
  }
}

/** The current time in minutes. All components share one timer: a list has hundreds of rows. */
export const useMinute = (): number => useSyncExternalStore(followMinutes, () => Math.floor(Date.now() / minuteMs))

const followNetwork = (listener: () => void) => {
  for (const name of ['online', 'offline']) addEventListener(name, listener)
  return () => {
    for (const name of ['online', 'offline']) removeEventListener(name, listener)
  }
}

/** Whether the browser has a network. */
export const useOnline = (): boolean => useSyncExternalStore(followNetwork, () => navigator.onLine)
