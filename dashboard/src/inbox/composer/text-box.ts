/** What the reply box and the note box share: growing with the text, and leaving with Escape. */
import { type KeyboardEvent, useLayoutEffect } from 'react'

/** Escape moves the focus to the thread, so that the inbox shortcuts work again. */
export function leaveBox(event: KeyboardEvent<HTMLTextAreaElement>): void {
  event.stopPropagation()
  event.currentTarget.blur()
  document.querySelector<HTMLElement>('.inbox-messages')?.focus({ preventScroll: true })
}

export function useAutoHeight(box: { current: HTMLTextAreaElement | null }, text: string): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: the height depends on the text.
  useLayoutEffect(() => {
    const { current: element } = box
    if (!element) return
    element.style.height = 'auto'
    element.style.height = `${element.scrollHeight}px`
  }, [box, text])
}
