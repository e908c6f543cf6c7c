/** A value outside React. A component that uses it renders when the selected part of it changes. */
import { useSyncExternalStore } from 'react'

/** `init` runs at the first use. */
export function createStore<Value>(init: () => Value) {
  let current: { value: Value } | undefined
  const listeners = new Set<() => void>()
  const subscribe = (listener: () => void) => {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }
  const get = (): Value => {
    current ??= { value: init() }
    return current.value
  }
  return {
    get,
    set(value: Value) {
      current = { value }
      for (const listener of listeners) listener()
    },
    /** `select` returns the same object while nothing has changed. */
    useValue: <Part>(select: (value: Value) => Part): Part => useSyncExternalStore(subscribe, () => select(get())),
  }
}
