/**
 * Keyboard shortcuts: one key, or a sequence such as `g i`. They are off in text fields, menus and parts with `data-own-keys`, and
 * while a dialog is open or the focus is about to move (`holdShortcuts`).
 */
import { useLayoutEffect, useRef } from 'react'

/** The key that browsers use with letters, as this computer writes it. */
export const modifierKey = /Mac|iPhone|iPad/.test(navigator.platform) ? '⌘' : 'Ctrl'

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

let heldCount = 0

/** Turns all shortcuts off until the returned function is called: the focus is about to move into a text field. */
export function holdShortcuts(): () => void {
  heldCount++
  let isHeld = true
  return () => {
    if (isHeld) heldCount--
    isHeld = false
  }
}

/** The same while `isHeld`: a dialog that is still loading gets the letters that follow its key. */
export function useHeldShortcuts(isHeld: boolean): void {
  useLayoutEffect(() => (isHeld ? holdShortcuts() : undefined), [isHeld])
}

const isIn = (target: EventTarget | null, selector: string): boolean =>
  target instanceof HTMLElement && target.closest(selector) !== null

/** Whether Ctrl+Z belongs to the element: a text field, or any part while a dialog is open. A check box has no text. */
export const ownsUndo = (target: EventTarget | null): boolean =>
  document.querySelector('dialog[open]') !== null ||
  isIn(target, 'input:not([type="checkbox"], [type="radio"]), textarea, select, [contenteditable]')

/** A text field types the key, and a menu jumps to the item that starts with it. */
const usesKeys = (target: EventTarget | null): boolean =>
  heldCount > 0 || ownsUndo(target) || isIn(target, '[role="menu"], [data-own-keys]')
