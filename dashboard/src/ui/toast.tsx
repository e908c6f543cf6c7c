/**
 * Short notices, also read out by screen readers. They stand where no button of a form or composer is. A notice of a
 * change can carry an undo.
 */
import { createContext, type ReactNode, useCallback, useContext, useMemo, useRef, useState } from 'react'
import { messageOf } from '../lib/api.ts'
import { words } from '../words/words.ts'
import { Icon } from './icon.tsx'

type Toast = { id: number; text: string; tone: 'red' | undefined; undo: (() => void) | undefined }
type Tell = { done: (text: string, undo?: () => void) => void; failed: (error: unknown) => void }

const doneMs = 4_000
/** An undo needs time to be noticed and reached. */
const undoMs = 8_000
const failedMs = 12_000

const Context = createContext<Tell>({ done: () => {}, failed: () => {} })

export const useToast = (): Tell => useContext(Context)

export function Toasts({ children }: { children: ReactNode }) {
  const [toasts, setToasts] = useState<readonly Toast[]>([])
  const next = useRef(0)
  const drop = useCallback((id: number) => setToasts((all) => all.filter((toast) => toast.id !== id)), [])
  const tell = useMemo(() => {
    const add = (toast: Omit<Toast, 'id'>, forMs: number) => {
      const id = ++next.current
      setToasts((all) => [...all.slice(-3), { id, ...toast }])
      setTimeout(() => drop(id), forMs)
    }
    return {
      done: (text: string, undo?: () => void) => add({ text, tone: undefined, undo }, undo ? undoMs : doneMs),
      failed: (error: unknown) => add({ text: messageOf(error), tone: 'red', undo: undefined }, failedMs),
    }
  }, [drop])
  return (
    <Context value={tell}>
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
                  drop(id)
                }}
              >
                {words.common.undo}
              </button>
            )}
            <button type="button" aria-label={words.common.close} onClick={() => drop(id)}>
              <Icon name="close" />
            </button>
          </div>
        ))}
      </div>
    </Context>
  )
}
