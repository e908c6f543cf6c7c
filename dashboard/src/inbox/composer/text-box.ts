/** What the reply box and the note box share: growing with the text, and the focus. */
import { type KeyboardEvent, useLayoutEffect, useRef } from 'react'
import { isUndoKey, undoShownChange } from '../model/changes.ts'

/** Escape moves the focus from the composer to the thread, so that the inbox shortcuts work again. */
export function leaveComposer(event: KeyboardEvent<HTMLElement>): void {
  const { target, currentTarget } = event
  // Dialogs and menus use it themselves.
  const isInside = target instanceof HTMLElement && currentTarget.contains(target) && !target.closest('dialog')
  if (event.key !== 'Escape' || event.defaultPrevented || !isInside) return
  event.stopPropagation()
  target.blur()
  document.querySelector<HTMLElement>('.inbox-messages')?.focus({ preventScroll: true })
}

export function useAutoHeight(box: { current: HTMLTextAreaElement | null }, text: string): void {
  useLayoutEffect(() => {
    const { current: element } = box
    if (!element) return
    // An empty box has one row. Measuring it would lay out the page while a conversation opens.
    element.style.height = text ? 'auto' : ''
    if (!text) return
    element.style.height = `${element.scrollHeight}px`
  }, [box, text])
}

/**
 * Ctrl+Z in an empty box undoes the change that a toast shows: sending with Ctrl+Enter closes a conversation and leaves the focus in
 * the next box. After the member has typed here, Ctrl+Z is the browser's, which restores deleted text.
 */
export function useUndoInEmptyBox() {
  const hasTyped = useRef(false)
  return {
    setTyped: (isTyped: boolean) => {
      hasTyped.current = isTyped
    },
    /** Returns whether the key undid a change. */
    handleUndo: (event: KeyboardEvent<HTMLTextAreaElement>): boolean => {
      const isUndone = isUndoKey(event) && !event.currentTarget.value && !hasTyped.current && undoShownChange()
      if (isUndone) event.preventDefault()
      return isUndone
    },
  }
}
