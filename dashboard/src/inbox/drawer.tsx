/** Something over the edge of the page: the browser's own `<dialog>`, at the right, and over all of it on a phone. */
import { type ReactNode, useLayoutEffect, useRef } from 'react'
import { IconButton } from '../../../ui/button.tsx'
import { words } from '../words/words.ts'

export function Drawer({ label, onClose, children }: { label: string; onClose: () => void; children: ReactNode }) {
  const ref = useRef<HTMLDialogElement>(null)
  // Closed before it is taken off the page, or the focus would not go back to where it was.
  useLayoutEffect(() => {
    const dialog = ref.current
    if (dialog && !dialog.open) dialog.showModal()
    return () => dialog?.close()
  }, [])
  return (
    <dialog
      ref={ref}
      className="inbox-drawer"
      aria-label={label}
      onMouseDown={(event) => event.target === ref.current && onClose()}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
    >
      <div className="inbox-drawer-body">
        <div className="inbox-drawer-head">
          <IconButton label={words.inbox.contact.close} icon="close" size="small" onClick={onClose} />
        </div>
        {children}
      </div>
    </dialog>
  )
}
