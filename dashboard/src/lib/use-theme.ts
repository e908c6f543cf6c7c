/** The theme that is chosen now, wherever on the page it was chosen. */
import { useSyncExternalStore } from 'react'
import { readTheme, type Theme } from './theme.ts'

export const useTheme = (): Theme => useSyncExternalStore(watch, readTheme)

/** The page's root says which theme it has: it is told whenever that changes. */
function watch(onChange: () => void): () => void {
  const observer = new MutationObserver(onChange)
  observer.observe(document.documentElement, { attributeFilter: ['data-theme'] })
  return () => observer.disconnect()
}
