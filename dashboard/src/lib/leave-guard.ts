/**
 * Navigation that asks before unsaved edits are lost. A form with edits registers a guard (`ui/leave-guard.tsx`); links, shortcuts,
 * the palette and the back button then call it instead of leaving. A page can have several such forms: one of them asks for all.
 *
 * A navigation that replaces the entry of the history passes: the page itself makes it, after a deletion or a merge.
 */
import { useEffect } from 'react'
import type { AroundNavHandler } from 'wouter'
import { navigate } from 'wouter/use-browser-location'

/** Keeps `leave` for later and asks. */
type Ask = (leave: () => void) => void

type Guard = { ask: Ask; path: string; href: string }

/** Of the forms with unsaved edits. */
const guards = new Set<Guard>()

const findGuard = (): Guard | undefined => [...guards].at(-1)

/** The member has decided to leave: no other form asks again. */
const releaseAnd = (leave: () => void) => () => {
  guards.clear()
  leave()
}

// The browser has left already: the entry of the page is added again, and leaving is one step back from it. This listener precedes
// that of the router, which is added with the first component.
addEventListener(
  'popstate',
  (event) => {
    const guard = findGuard()
    if (!guard || guard.path === location.pathname) return
    event.stopImmediatePropagation()
    history.pushState(null, '', guard.href)
    guard.ask(releaseAnd(() => history.back()))
  },
  { capture: true },
)

/** How the router navigates. */
export const navigateGuarded: AroundNavHandler = (go, to, options) => {
  const isSamePage = new URL(to, location.href).pathname === location.pathname
  const guard = findGuard()
  if (guard && !options?.replace && !isSamePage) guard.ask(releaseAnd(() => go(to, options)))
  else go(to, options)
}

/** Navigates from outside the components. */
export const navigateTo = (path: string): void => navigateGuarded(navigate, path)

/** While `ask` is given, it decides about leaving the page. The browser asks before a reload and before the tab closes. */
export function useLeaveGuard(ask: Ask | undefined): void {
  useEffect(() => {
    if (!ask) return
    const warn = (event: BeforeUnloadEvent) => event.preventDefault()
    const guard = { ask, path: location.pathname, href: location.href }
    guards.add(guard)
    addEventListener('beforeunload', warn)
    return () => {
      guards.delete(guard)
      removeEventListener('beforeunload', warn)
    }
  }, [ask])
}
