/** A modal panel at the right edge, full screen on a phone. Uses the native `<dialog>`. */
import { type ReactNode, useLayoutEffect, useRef } from 'react'
import { IconButton } from '../../../ui/button.tsx'
import { words } from '../words/words.ts'

export function Drawer({ label, onClose, children }: { label: string; onClose: () => void; children: ReactNode }) {
  const ref = useRef<HTMLDialogElement>(null)
  // Closes the dialog before React removes it; otherwise the browser does not restore the focus.
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
