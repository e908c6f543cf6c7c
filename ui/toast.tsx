/** Short notices that screen readers announce. They appear away from the buttons of forms and composers. */
import { createContext, type ReactNode, useCallback, useContext, useMemo, useRef, useState } from 'react'
import { Icon } from './icon.tsx'
import { useKitWords } from './words.tsx'

type Toast = { id: number; text: string; tone: 'red' | undefined; undo: (() => void) | undefined }
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
  const words = useKitWords()
  const [toasts, setToasts] = useState<readonly Toast[]>([])
  const lastId = useRef(0)
  const remove = useCallback((id: number) => setToasts((all) => all.filter((toast) => toast.id !== id)), [])
  const show = useMemo(() => {
    const add = (toast: Omit<Toast, 'id'>, durationMs: number) => {
      const id = ++lastId.current
      setToasts((all) => [...all.slice(1 - maxToasts), { id, ...toast }])
      setTimeout(() => remove(id), durationMs)
    }
    return {
      success: (text: string, undo?: () => void) => add({ text, tone: undefined, undo }, undo ? undoMs : successMs),
      error: (error: unknown) => add({ text: describeError(error), tone: 'red', undo: undefined }, errorMs),
    }
  }, [remove, describeError])
  return (
    <Context value={show}>
      {children}
      <div className="toasts" role="status" aria-live="polite">
        {toasts.map(({ id, text, tone, undo }) => (
          <div key={id} className="toast" data-tone={tone}>
            <Icon name={tone ? 'alert' : 'check'} />
            <p>{text}</p>
            {undo && (
              <button
                type="button"
                className="toast-undo"
                onClick={() => {
                  undo()
                  remove(id)
                }}
              >
                {words.undo}
              </button>
            )}
            <button type="button" aria-label={words.close} onClick={() => remove(id)}>
              <Icon name="close" />
            </button>
          </div>
        ))}
      </div>
    </Context>
  )
}
