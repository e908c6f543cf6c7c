/** The colour theme: light, dark, or the system's. The choice is kept in this browser. */
import { useSyncExternalStore } from 'react'

export const themes = ['system', 'light', 'dark'] as const
type Theme = (typeof themes)[number]

const storageKey = 'parley-theme'

const readTheme = (): Theme => themes.find((theme) => theme === localStorage.getItem(storageKey)) ?? 'system'

export function setTheme(theme: Theme): void {
  if (theme === 'system') localStorage.removeItem(storageKey)
  else localStorage.setItem(storageKey, theme)
  applyTheme()
}

/** Sets `data-theme` of the root element, which `tokens.css` reads. */
export function applyTheme(): void {
  const theme = readTheme()
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}

/** The current choice. `applyTheme` changes the root element, so observing that covers every control of the theme. */
export const useTheme = (): Theme => useSyncExternalStore(observeRoot, readTheme)

function observeRoot(onChange: () => void): () => void {
  const observer = new MutationObserver(onChange)
  observer.observe(document.documentElement, { attributeFilter: ['data-theme'] })
  return () => observer.disconnect()
}
