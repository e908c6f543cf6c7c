/**
 * Short notices that screen readers announce. They appear away from the buttons of forms and composers, and stay while the
 * pointer or the focus is in them.
 */
import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useRef, useState } from 'react'
import { Icon } from './icon.tsx'
import { useKitWords } from './words.tsx'

type Toast = {
  id: number
  text: string
  tone: 'red' | undefined
  undo: (() => void) | undefined
  durationMs: number
}
type ShowToast = { success: (text: string, undo?: () => void) => void; error: (error: unknown) => void }

const maxToasts = 4
const successMs = 4_000
/** The member needs time to notice the undo button and to reach it. */
const undoMs = 8_000
const errorMs = 12_000

const Context = createContext<ShowToast>({ success: () => {}, error: () => {} })

export const useToast = (): ShowToast => useContext(Context)

type ToastsProps = { describeError: (error: unknown) => string; children: ReactNode }

export function Toasts({ describeError, children }: ToastsProps) {
  const [toasts, setToasts] = useState<readonly Toast[]>([])
  const lastId = useRef(0)
  const remove = useCallback((id: number) => setToasts((all) => all.filter((toast) => toast.id !== id)), [])
  const show = useMemo(() => {
    const add = (toast: Omit<Toast, 'id'>) => {
      const id = ++lastId.current
      setToasts((all) => [...all.slice(1 - maxToasts), { id, ...toast }])
    }
    return {
      success: (text: string, undo?: () => void) =>
        add({ text, tone: undefined, undo, durationMs: undo ? undoMs : successMs }),
      error: (error: unknown) => add({ text: describeError(error), tone: 'red', undo: undefined, durationMs: errorMs }),
    }
  }, [describeError])
  return (
    <Context value={show}>
      {children}
      <div className="toasts" role="status" aria-live="polite">
        {toasts.map((toast) => (
          <ToastBox key={toast.id} toast={toast} onRemove={remove} />
        ))}
      </div>
    </Context>
  )
}

function ToastBox({ toast, onRemove }: { toast: Toast; onRemove: (id: number) => void }) {
  const { id, text, tone, undo, durationMs } = toast
  const words = useKitWords()
  const [isHeld, setHeld] = useState(false)
  useEffect(() => {
    if (isHeld) return
    const timer = setTimeout(() => onRemove(id), durationMs)
    return () => clearTimeout(timer)
  }, [isHeld, id, durationMs, onRemove])
  const hold = () => setHeld(true)
  const release = () => setHeld(false)
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only stays while one of its buttons is about to be used.
    <div className="toast" data-tone={tone} onMouseEnter={hold} onMouseLeave={release} onFocus={hold} onBlur={release}>
      <Icon name={tone ? 'alert' : 'check'} />
      <p>{text}</p>
      {undo && (
        <button
          type="button"
          className="toast-undo"
          onClick={() => {
            undo()
            onRemove(id)
          }}
        >
          {words.undo}
        </button>
      )}
      <button type="button" aria-label={words.close} onClick={() => onRemove(id)}>
        <Icon name="close" />
      </button>
    </div>
  )
}
