/** A modal panel at the right edge, full screen on a phone. */
import type { ReactNode } from 'react'
import { IconButton } from '../../../ui/controls.tsx'
import { Modal } from '../../../ui/overlays.tsx'
import { words } from '../words/words.ts'

export function Drawer({ label, onClose, children }: { label: string; onClose: () => void; children: ReactNode }) {
  return (
    <Modal className="inbox-drawer" aria-label={label} onDismiss={onClose}>
      <div className="inbox-drawer-body">
        <div className="inbox-drawer-head">
          <IconButton label={words.inbox.contact.close} icon="close" size="small" onClick={onClose} />
        </div>
        {children}
      </div>
    </Modal>
  )
}
