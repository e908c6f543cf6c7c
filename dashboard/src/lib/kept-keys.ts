/**
 * Keeps the keys that the member types while a dialog loads, and types them into it when it opens, in order. Without it the first
 * letters are lost, or go to the field behind the dialog, and Enter acts on the rest.
 */

export type KeptKeys = {
  /** The dialog is rendered. Its first field may still take the focus later, such as after a request. */
  open(): void
  stop(): void
}

const dialogs = 'dialog[open], [role="dialog"]'
/** Where a dialog wants the keys: its text field, or the choice that it starts at. */
const targets = 'input, textarea, [data-focus]'
const controlKeys = new Set(['Enter', 'Escape', 'Backspace', 'ArrowDown', 'ArrowUp'])

/** Keeps all keys from now on until the dialog has them. */
export function keepKeys(): KeptKeys {
  const keys: string[] = []
  let isOpen = false
  let isTyping = false
  const isKept = (key: string): boolean => {
    if (!isOpen || isTyping) return key.length === 1 || controlKeys.has(key)
    // The dialog has no field yet, but buttons that use the other keys.
    return key.length === 1 && (key !== ' ' || keys.length > 0)
  }
  const press = (event: KeyboardEvent) => {
    const { key, ctrlKey, metaKey, altKey, isComposing, isTrusted } = event
    if (!isTrusted || ctrlKey || metaKey || altKey || isComposing) return
    if (isOpen && !isTyping && key === 'Tab') stop()
    if (!isKept(key)) return
    event.preventDefault()
    event.stopImmediatePropagation()
    // A key that is held down has opened the dialog and is not meant for it.
    if (!event.repeat) keys.push(key)
  }
  const typeAll = async () => {
    isTyping = true
    while (keys.length > 0 && findTarget()) {
      typeKeys(keys)
      // The page renders before the next key, as after a real one.
      await new Promise((resolve) => setTimeout(resolve))
    }
    stop()
  }
  const typeWhenFocused = () => {
    if (!isOpen || isTyping) return
    if (keys.includes('Escape')) cancelDialog()
    else if (findTarget()) void typeAll()
  }
  const stop = () => {
    removeEventListener('keydown', press, { capture: true })
    removeEventListener('pointerdown', stop, { capture: true })
    removeEventListener('focusin', typeWhenFocused)
  }
  addEventListener('keydown', press, { capture: true })
  addEventListener('pointerdown', stop, { capture: true })
  addEventListener('focusin', typeWhenFocused)
  const open = () => {
    isOpen = true
    typeWhenFocused()
  }
  return { open, stop }
}

const findTarget = (): HTMLElement | undefined => {
  const { activeElement: element } = document
  return element instanceof HTMLElement && element.matches(targets) && element.closest(dialogs) ? element : undefined
}

function cancelDialog(): void {
  const dialog = [...document.querySelectorAll(dialogs)].at(-1)
  const key = new KeyboardEvent('keydown', { key: 'Escape', bubbles: true, cancelable: true })
  if ((findTarget() ?? dialog)?.dispatchEvent(key)) dialog?.dispatchEvent(new Event('cancel', { cancelable: true }))
}

/** Types the next letters at once, or one other key. The browser does nothing for keys of a script, so this does it instead. */
function typeKeys(keys: string[]): void {
  const target = findTarget()
  const isOther = (key: string) => key.length > 1
  const end = keys.findIndex(isOther)
  const letters = keys.splice(0, end < 0 ? keys.length : end).join('')
  if (letters) {
    if (target?.matches('input, textarea')) document.execCommand('insertText', false, letters)
    return
  }
  const key = keys.shift() ?? ''
  if (key === 'Backspace') document.execCommand('delete')
  else if (target?.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }))) {
    if (key !== 'Enter') return
    if (target instanceof HTMLInputElement) target.form?.requestSubmit()
    else if (target instanceof HTMLButtonElement) target.click()
  }
}
