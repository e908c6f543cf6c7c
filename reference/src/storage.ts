/** Choices of the reader that survive a reload. */
import { useState } from 'react'

export const themeKey = 'parley.docs.theme'

export function readStored(area: 'localStorage' | 'sessionStorage', key: string): string | null {
  try {
    return window[area].getItem(key)
  } catch {
    return null
  }
}

/** State that is stored in the browser. If storage is blocked, it lasts until the page closes. */
export function useStoredState(
  area: 'localStorage' | 'sessionStorage',
  key: string,
): [string | null, (value: string) => void] {
  const [value, setValue] = useState(() => readStored(area, key))
  return [
    value,
    (next) => {
      setValue(next)
      try {
        window[area].setItem(key, next)
      } catch {
        // Storage is blocked: the state in memory remains.
      }
    },
  ]
}
