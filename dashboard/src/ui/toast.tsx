/** Short news at the edge of the window, heard as well as seen. Good news goes by itself; bad news waits to be read. */
import { createContext, type ReactNode, useCallback, useContext, useMemo, useRef, useState } from 'react'
import { messageOf } from '../lib/api.ts'
import { words } from '../words/words.ts'
import { Icon } from './icon.tsx'

type Toast = { id: number; text: string; tone: 'red' | undefined }
type Tell = { done: (text: string) => void; failed: (error: unknown) => void }

const Context = createContext<Tell>({ done: () => {}, failed: () => {} })

export const useToast = (): Tell => useContext(Context)

export function Toasts({ children }: { children: ReactNode }) {
  const [toasts, setToasts] = useState<readonly Toast[]>([])
  const next = useRef(0)
  const drop = useCallback((id: number) => setToasts((all) => all.filter((toast) => toast.id !== id)), [])
  const tell = useMemo(() => {
    const add = (text: string, tone: Toast['tone'], forMs: number) => {
      const id = ++next.current
      setToasts((all) => [...all.slice(-3), { id, text, tone }])
      setTimeout(() => drop(id), forMs)
    }
    return {
      done: (text: string) => add(text, undefined, 4_000),
      failed: (error: unknown) => add(messageOf(error), 'red', 12_000),
    }
  }, [drop])
  return (
    <Context value={tell}>
      {children}
      <div className="toasts" role="status" aria-live="polite">
        {toasts.map(({ id, text, tone }) => (
          <div key={id} className="toast" data-tone={tone}>
            <Icon name={tone ? 'alert' : 'check'} />
            <p>{text}</p>
            <button type="button" aria-label={words.common.close} onClick={() => drop(id)}>
              <Icon name="close" />
            </button>
          </div>
        ))}
      </div>
    </Context>
  )
}
