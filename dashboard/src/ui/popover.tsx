/**
 * A small panel beside the control that opened it. It is modal as a dialog is: Escape and a press outside close it, and the focus
 * returns. On a phone it is at the lower edge.
 */
import type { CSSProperties, ReactNode } from 'react'
import { IconButton } from '../../../ui/controls.tsx'
import { Modal } from '../../../ui/overlays.tsx'
import { useKitWords } from '../../../ui/words.tsx'

export type Anchor = Pick<DOMRect, 'top' | 'bottom' | 'left' | 'right'>

type Props = {
  title: string
  /** Undefined: in the middle of the window. */
  anchor: Anchor | undefined
  onClose: () => void
  children: ReactNode
}

export function Popover({ title, anchor, onClose, children }: Props) {
  const words = useKitWords()
  return (
    <Modal className="dialog popover" aria-label={title} style={anchor && placeAt(anchor)} onDismiss={onClose}>
      <header>
        <h2>{title}</h2>
        <IconButton label={words.close} icon="close" onClick={onClose} />
      </header>
      <div className="dialog-body">{children}</div>
    </Modal>
  )
}

/** The button or link that has the focus, for a popover that it opens. Undefined when another part has it, such as the thread. */
export function focusedAnchor(): Anchor | undefined {
  const rect = document.activeElement?.closest('button, a')?.getBoundingClientRect()
  return rect && rect.width > 0 ? rect : undefined
}

const width = 320
const gap = 6
/** A popover needs this height, or it opens above its control if there is more space. */
const preferredHeight = 360
/** With less space, above and below, it opens in the middle of the window: the whole thread may have the focus. */
const minHeight = 240

/** Variables of `ui.css`: on a phone it is placed otherwise. */
function placeAt({ top, bottom, left, right }: Anchor): CSSProperties | undefined {
  const { innerWidth, innerHeight } = window
  if (Math.max(top, innerHeight - bottom) < minHeight) return undefined
  const isBelow = innerHeight - bottom >= preferredHeight || innerHeight - bottom >= top
  // Aligned with the side of the control that is nearer to the edge of the window.
  const start = left + width + gap <= innerWidth ? left : right - width
  const place = {
    '--popover-left': `${Math.max(gap, Math.min(start, innerWidth - width - gap))}px`,
    '--popover-top': isBelow ? `${Math.min(bottom + gap, innerHeight - gap)}px` : 'auto',
    '--popover-bottom': isBelow ? 'auto' : `${innerHeight - top + gap}px`,
    '--popover-height': `${(isBelow ? innerHeight - bottom : top) - 2 * gap}px`,
  }
  return place as CSSProperties
}
