/** What the reply box and the note box share: growing with the text, and leaving with Escape. */
import { type KeyboardEvent, useLayoutEffect } from 'react'

/** Escape moves the focus to the thread, so that the inbox shortcuts work again. */
export function leaveBox(event: KeyboardEvent<HTMLTextAreaElement>): void {
  event.stopPropagation()
  event.currentTarget.blur()
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
