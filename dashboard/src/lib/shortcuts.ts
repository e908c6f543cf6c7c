/** Keys that do something, unless somebody is writing or a dialog is open. A key may be a letter, or `g i`: one after the other. */
import { useEffect, useRef } from 'react'

const togetherMs = 900

export function useShortcuts(keys: Record<string, (event: KeyboardEvent) => void>): void {
  const latest = useRef(keys)
  latest.current = keys
  useEffect(() => {
    let first = { key: '', at: 0 }
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isBusy(event.target)) return
      const pair = Date.now() - first.at < togetherMs ? `${first.key} ${event.key}` : ''
      const act = latest.current[pair] ?? latest.current[event.key]
      first = { key: event.key, at: Date.now() }
      if (!act) return
      event.preventDefault()
      act(event)
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [])
}

function isBusy(target: EventTarget | null): boolean {
  if (document.querySelector('dialog[open]')) return true
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
}
