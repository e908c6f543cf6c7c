/**
 * A modal on the browser's `<dialog>`, which traps and restores the focus and makes the rest of the page inert. `Dialog` and the
 * pages' drawers are built on it. Open while it is rendered: `{isOpen && <Modal …/>}`.
 */
import { type ComponentProps, createContext, type RefObject, useContext, useLayoutEffect, useRef } from 'react'

type ModalProps = Omit<ComponentProps<'dialog'>, 'onCancel' | 'onMouseDown' | 'ref'> & {
  /** Escape or a press on the backdrop. Without it, neither closes the modal. */
  onDismiss?: () => void
}

const Container = createContext<RefObject<HTMLElement | null> | undefined>(undefined)

/** The parent of popups: the enclosing modal, because the page behind it is inert, or by default the body. */
export const usePopupContainer = () => useContext(Container)

export function Modal({ onDismiss, children, ...rest }: ModalProps) {
  const ref = useRef<HTMLDialogElement>(null)
  const isDismissible = onDismiss !== undefined
  // The browser restores the focus only when the dialog closes before React removes it.
  useLayoutEffect(() => {
    const dialog = ref.current
    if (!dialog) return
    const open = () => dialog.isConnected && !dialog.open && dialog.showModal()
    open()
    // The browser focuses the first button. A form starts at its first field instead, a question at the button with `data-focus`.
    dialog.querySelector<HTMLElement>('.dialog-body :is(input, select, textarea, [data-focus])')?.focus()
    // Chromium closes a dialog on the second Escape even if `cancel` was prevented.
    if (!isDismissible) dialog.addEventListener('close', open)
    return () => {
      dialog.removeEventListener('close', open)
      dialog.close()
    }
  }, [isDismissible])
  return (
    <dialog
      {...rest}
      ref={ref}
      // On press, not on click: a text selection that ends on the backdrop must not close the modal.
      onMouseDown={(event) => event.target === ref.current && onDismiss?.()}
      onKeyDown={(event) => !isDismissible && event.key === 'Escape' && event.preventDefault()}
      onCancel={(event) => {
        event.preventDefault()
        onDismiss?.()
      }}
    >
      <Container value={ref}>{children}</Container>
    </dialog>
  )
}
