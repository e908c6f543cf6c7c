/** A modal panel at the edge of the window, full screen on a phone. */
import type { ReactNode } from 'react'
import { IconButton } from '../../../ui/controls.tsx'
import { Modal } from '../../../ui/overlays.tsx'

type Props = { label: string; close: string; className?: string; onClose: () => void; children: ReactNode }

export const Drawer = ({ label, close, className = '', onClose, children }: Props) => (
  <Modal className={`inbox-drawer ${className}`.trim()} aria-label={label} onDismiss={onClose}>
    <div className="inbox-drawer-body">
      <div className="inbox-drawer-head">
        <IconButton label={close} icon="close" onClick={onClose} />
      </div>
      {children}
    </div>
  </Modal>
)
