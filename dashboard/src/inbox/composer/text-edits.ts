/** Edits of a text box that the browser can undo: inserting text and marking the selection. */

/** Replaces the selection. `execCommand` is the only way that keeps the undo history; every browser still has it. */
export function insertText(box: HTMLTextAreaElement, text: string): void {
  box.focus()
  if (document.execCommand('insertText', false, text)) return
  box.setRangeText(text, box.selectionStart, box.selectionEnd, 'end')
  box.dispatchEvent(new Event('input', { bubbles: true }))
}

/** The keys of the marks, with Ctrl or Command. */
export const markKeys: Readonly<Record<string, string>> = { b: '*', i: '_' }

/** Puts the mark around the selection, or removes it. Spaces at the ends stay outside, because the channel ignores such marks. */
export function toggleMark(box: HTMLTextAreaElement, mark: string): void {
  const { value, selectionStart: start, selectionEnd: end } = box
  const selected = value.slice(start, end)
  const inside = selected.trim()
  if (!inside) {
    insertText(box, mark + mark)
    box.setSelectionRange(start + 1, start + 1)
    return
  }
  const isMarked = value[start - 1] === mark && value[end] === mark
  const from = start + selected.indexOf(inside)
  if (isMarked) {
    box.setSelectionRange(start - 1, end + 1)
    insertText(box, selected)
    box.setSelectionRange(start - 1, end - 1)
    return
  }
  box.setSelectionRange(from, from + inside.length)
  insertText(box, `${mark}${inside}${mark}`)
  box.setSelectionRange(from + 1, from + 1 + inside.length)
}
