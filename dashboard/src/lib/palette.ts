/**
 * What the command palette knows before it is loaded: the actions of the page that is shown, and the items that the member
 * opened last, in this browser.
 */
import { useEffect } from 'react'
import type { IconName } from '../../../ui/icon.tsx'
import { createStore } from './store.ts'

export type Command = {
  id: string
  label: string
  icon: IconName
  /** The keys of the same action, shown beside it. */
  keys?: readonly string[]
  /** Whether it would change nothing now. */
  isHidden?: () => boolean
  run: () => void
}

const groups = new Map<string, readonly Command[]>()
const all = createStore<readonly Command[]>(() => [])

function setGroup(group: string, commands: readonly Command[]): void {
  groups.set(group, commands)
  all.set([...groups.values()].flat())
}

/** Offers actions while the page is shown. `group` names the page. */
export function useCommands(group: string, commands: readonly Command[]): void {
  // After every render, so that an action never works with outdated data.
  useEffect(() => {
    setGroup(group, commands)
  })
  useEffect(() => () => setGroup(group, []), [group])
}

/** The actions of the page that is shown, also of one that loads while the palette is open. */
export const usePageCommands = (): readonly Command[] => all.useValue((commands) => commands)

/** An item that the palette opened: a person, a conversation or a page. */
export type RecentItem = { href: string; label: string; detail: string; icon: IconName }

const storageKey = 'parley-recent'
const maxRecent = 8

export function listRecent(): RecentItem[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(storageKey) ?? '[]')
    return Array.isArray(stored) ? (stored as RecentItem[]).slice(0, maxRecent) : []
  } catch {
    return []
  }
}

export function rememberRecent(item: RecentItem): void {
  const others = listRecent().filter(({ href }) => href !== item.href)
  localStorage.setItem(storageKey, JSON.stringify([item, ...others].slice(0, maxRecent)))
}

/** At sign-out: the next member of this browser must not see them. */
export const clearRecent = (): void => localStorage.removeItem(storageKey)
