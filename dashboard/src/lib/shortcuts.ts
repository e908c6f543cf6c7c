/** Keyboard shortcuts: one key, or a sequence such as `g i`. They are off in text fields and menus, and while a dialog is open. */
import { useLayoutEffect, useRef } from 'react'

/** The first key of all sequences. */
const prefix = 'g'
const sequenceMs = 900

export function useShortcuts(keys: Record<string, (event: KeyboardEvent) => void>): void {
  const latest = useRef(keys)
  latest.current = keys
  // In a layout effect, so that the keys work as soon as the page is visible.
  useLayoutEffect(() => {
    let previous = { key: '', at: 0 }
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || usesKeys(event.target)) return
      // The second key of a sequence is no shortcut of its own: `g s` opens a page and does not snooze.
      const isSecond = previous.key === prefix && Date.now() - previous.at < sequenceMs
      const act = latest.current[isSecond ? `${prefix} ${event.key}` : event.key]
      previous = { key: event.key, at: Date.now() }
      if (!act) return
      event.preventDefault()
      act(event)
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [])
}

/** A text field types the key, and a menu jumps to the item that starts with it. */
const usesKeys = (target: EventTarget | null): boolean =>
  document.querySelector('dialog[open]') !== null ||
  (target instanceof HTMLElement &&
    (target.isContentEditable || target.closest('input, textarea, select, [role="menu"]') !== null))
