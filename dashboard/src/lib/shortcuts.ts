/** Keyboard shortcuts: one key, or a sequence such as `g i`. They are off in text fields and menus, and while a dialog is open. */
import { useEffect, useRef } from 'react'

const sequenceMs = 900

export function useShortcuts(keys: Record<string, (event: KeyboardEvent) => void>): void {
  const latest = useRef(keys)
  latest.current = keys
  useEffect(() => {
    let previous = { key: '', at: 0 }
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || usesKeys(event.target)) return
      const sequence = Date.now() - previous.at < sequenceMs ? `${previous.key} ${event.key}` : ''
      const act = latest.current[sequence] ?? latest.current[event.key]
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
