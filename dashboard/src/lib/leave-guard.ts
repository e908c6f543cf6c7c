/**
 * Navigation that asks before unsaved edits are lost. A page with edits registers a guard (`ui/leave-guard.tsx`); links, shortcuts,
 * the palette and the back button then call it instead of leaving.
 *
 * A navigation that replaces the entry of the history passes: the page itself makes it, after a deletion or a merge.
 */
import { useEffect } from 'react'
import type { AroundNavHandler } from 'wouter'
import { navigate } from 'wouter/use-browser-location'

/** Keeps `leave` for later and asks. */
type Ask = (leave: () => void) => void

/** Of the page with unsaved edits. */
let guard: { ask: Ask; path: string; href: string } | undefined

// The browser has left already: the entry of the page is added again, and leaving is one step back from it. This listener precedes
// that of the router, which is added with the first component.
addEventListener(
  'popstate',
  (event) => {
    if (!guard || guard.path === location.pathname) return
    event.stopImmediatePropagation()
    history.pushState(null, '', guard.href)
    guard.ask(() => history.back())
  },
  { capture: true },
)

/** How the router navigates. */
export const navigateGuarded: AroundNavHandler = (go, to, options) => {
  const isSamePage = new URL(to, location.href).pathname === location.pathname
  if (guard && !options?.replace && !isSamePage) guard.ask(() => go(to, options))
  else go(to, options)
}

/** Navigates from outside the components. */
export const navigateTo = (path: string): void => navigateGuarded(navigate, path)

/** While `ask` is given, it decides about leaving the page. The browser asks before a reload and before the tab closes. */
export function useLeaveGuard(ask: Ask | undefined): void {
  useEffect(() => {
    if (!ask) return
    const warn = (event: BeforeUnloadEvent) => event.preventDefault()
    guard = { ask, path: location.pathname, href: location.href }
    addEventListener('beforeunload', warn)
    return () => {
      guard = undefined
      removeEventListener('beforeunload', warn)
    }
  }, [ask])
}
