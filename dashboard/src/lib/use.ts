/** Small hooks that several pages use. */
import { useCallback, useEffect, useState } from 'react'
import { useSearch } from 'wouter'
import { navigate } from 'wouter/use-browser-location'

/** A value that follows another once it has been still for a moment: for searching while somebody types. */
export function useStill<Value>(value: Value, forMs = 200): Value {
  const [still, setStill] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setStill(value), forMs)
    return () => clearTimeout(timer)
  }, [value, forMs])
  return still
}

/** A choice that lives in the address, so that reloading and sharing keep it. Empty: not there. */
export function useQueryValue(name: string): [string, (value: string) => void] {
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

/** The time, again and again: for countdowns. */
export function useNow(everyMs = 1_000): number {
  const [now, setNow] = useState(Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return now
}
