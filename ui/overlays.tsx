/** Dialogs and toasts. Menus are in `menu.tsx`. */
import {
  type ComponentProps,
  createContext,
  type ReactNode,
  type RefObject,
  useCallback,
  useContext,
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import { Button, IconButton } from './controls.tsx'
import { ErrorNote } from './display.tsx'
import { Icon } from './icon.tsx'
import { useKitWords } from './words.tsx'

type ModalProps = Omit<ComponentProps<'dialog'>, 'onCancel' | 'onClose' | 'onMouseDown' | 'ref'> & {
  /** Escape or a press on the backdrop. Without it, neither closes the modal. */
  onDismiss?: () => void
}

const Container = createContext<RefObject<HTMLElement | null> | undefined>(undefined)

/** The parent of popups: the enclosing modal, because the page behind it is inert, or by default the body. */
export const usePopupContainer = () => useContext(Container)

/** The open ones. The last is on top. */
const modals: HTMLDialogElement[] = []

/**
 * A modal on the browser's `<dialog>`, which traps and restores the focus and makes the rest of the page inert. `Dialog` and the
 * pages' drawers are built on it. Open while it is rendered: `{isOpen && <Modal …/>}`.
 */
export function Modal({ onDismiss, children, ...rest }: ModalProps) {
  const ref = useRef<HTMLDialogElement>(null)
  const dismiss = useRef(onDismiss)
  useLayoutEffect(() => {
    dismiss.current = onDismiss
  })
  // The browser restores the focus only when the dialog closes before React removes it.
  useLayoutEffect(() => {
    const dialog = ref.current
    if (!dialog) return
    if (!dialog.open) dialog.showModal()
    modals.push(dialog)
    // The browser focuses the first button. A form starts at its first field instead, a question at the button with `data-focus`.
    dialog
      .querySelector<HTMLElement>('.dialog-body :is(input:not([type="hidden"]), select, textarea, [data-focus])')
      ?.focus()
    // By itself, Chromium closes two dialogs with one Escape if no press or key was between them, and asks only once. A popup
    // in the dialog that uses the key prevents its default.
    const press = (event: globalThis.KeyboardEvent) => {
      if (event.key !== 'Escape' || event.defaultPrevented || event.isComposing || modals.at(-1) !== dialog) return
      event.preventDefault()
      dismiss.current?.()
    }
    window.addEventListener('keydown', press)
    return () => {
      window.removeEventListener('keydown', press)
      modals.splice(modals.indexOf(dialog), 1)
      dialog.close()
    }
  }, [])
  return (
    <dialog
      {...rest}
      ref={ref}
      // On press, not on click: a text selection that ends on the backdrop must not close the modal.
      onMouseDown={(event) => event.target === ref.current && onDismiss?.()}
      // Such as the back gesture of a phone.
      onCancel={(event) => {
        event.preventDefault()
        onDismiss?.()
      }}
      // Chromium closes a dialog the second time even if `cancel` was prevented.
      onClose={() => {
        if (!ref.current?.isConnected || ref.current.open) return
        ref.current.showModal()
        onDismiss?.()
      }}
    >
      <Container value={ref}>{children}</Container>
    </dialog>
  )
}

type DialogProps = { title: string; onClose: () => void; size?: 'wide' | undefined; children: ReactNode }

/** A modal with a title and a close button. */
export function Dialog({ title, onClose, size, children }: DialogProps) {
  const words = useKitWords()
  const id = useId()
  return (
    <Modal className="dialog" data-size={size} aria-labelledby={id} onDismiss={onClose}>
      <header>
        <h2 id={id}>{title}</h2>
        <IconButton label={words.close} icon="close" onClick={onClose} />
      </header>
      <div className="dialog-body">{children}</div>
    </Modal>
  )
}

type ConfirmProps = {
  title: string
  children: ReactNode
  /** The label of the confirming button: the action as a verb, not "OK". */
  action: string
  /** The label of the other button. */
  cancel?: string
  danger?: boolean
  busy?: boolean
  error?: string | undefined
  onConfirm: () => void
  onClose: () => void
}

/** Asks before an action that cannot be undone. */
export function Confirm(props: ConfirmProps) {
  const words = useKitWords()
  const { title, children, action, cancel = words.cancel, danger = false, busy = false, ...rest } = props
  const { error, onConfirm, onClose } = rest
  return (
    <Dialog title={title} onClose={onClose}>
      <div>{children}</div>
      {error && <ErrorNote>{error}</ErrorNote>}
      <div className="dialog-foot">
        <Button label={cancel} onClick={onClose} />
        <Button label={action} variant={danger ? 'danger' : 'primary'} busy={busy} onClick={onConfirm} />
      </div>
    </Dialog>
  )
}

type Undo = {
  run: () => void
  /** The label of the button, by default "Undo". */
  label?: string | undefined
  /** The shortcut that does the same now, to show it. A later toast can take it over. */
  keys?: () => string | undefined
}
/** `key`: the toast replaces the visible one with the same key. By default equal texts are one toast, unless each has an undo of its own. */
type ToastOptions = { undo?: Undo; key?: string; onRemoved?: () => void }
type Toast = ToastOptions & { id: number; key: string; text: string; tone: 'red' | undefined; durationMs: number }
type ShowToast = {
  /** `undo`: what the undo button does. */
  success: (text: string, undo?: (() => void) | ToastOptions) => void
  error: (error: unknown) => void
  /** Removes the toast with this key. */
  remove: (key: string) => void
}

const maxToasts = 4
const successMs = 4_000
/** The member needs time to notice the undo button and to reach it. */
const undoMs = 8_000
const errorMs = 12_000

const ToastContext = createContext<ShowToast>({ success: () => {}, error: () => {}, remove: () => {} })

export const useToast = (): ShowToast => useContext(ToastContext)

type ToastsProps = { describeError: (error: unknown) => string; children: ReactNode }

/**
 * Short notices that screen readers announce. They appear away from the buttons of forms and composers, and stay while the
 * pointer or the focus is in them.
 */
export function Toasts({ describeError, children }: ToastsProps) {
  const [toasts, setToasts] = useState<readonly Toast[]>([])
  const lastId = useRef(0)
  const remove = useCallback((key: string) => setToasts((all) => all.filter((toast) => toast.key !== key)), [])
  const show = useMemo((): ShowToast => {
    const add = (toast: Omit<Toast, 'id'>) => {
      const added = { ...toast, id: ++lastId.current }
      // At its position: an element that moves loses the focus.
      setToasts((all) =>
        all.some(({ key }) => key === added.key)
          ? all.map((one) => (one.key === added.key ? added : one))
          : [...all.slice(1 - maxToasts), added],
      )
    }
    return {
      success(text, undo) {
        const options = typeof undo === 'function' ? { undo: { run: undo }, key: `${text} ${lastId.current}` } : undo
        add({ key: text, text, tone: undefined, durationMs: options?.undo ? undoMs : successMs, ...options })
      },
      error(error) {
        const text = describeError(error)
        add({ key: text, text, tone: 'red', durationMs: errorMs })
      },
      remove,
    }
  }, [describeError, remove])
  const previous = useRef(toasts)
  useEffect(() => {
    const keys = new Set(toasts.map(({ key }) => key))
    for (const { key, onRemoved } of previous.current) if (!keys.has(key)) onRemoved?.()
    previous.current = toasts
  }, [toasts])
  return (
    <ToastContext value={show}>
      {children}
      <div className="toasts" role="status" aria-live="polite">
        {toasts.map((toast) => (
          <ToastBox key={toast.key} toast={toast} onRemove={remove} />
        ))}
      </div>
    </ToastContext>
  )
}

function ToastBox({ toast, onRemove }: { toast: Toast; onRemove: (key: string) => void }) {
  const { id, key, text, tone, undo, durationMs } = toast
  const words = useKitWords()
  const keys = undo?.keys?.()
  const [isHeld, setHeld] = useState(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the time starts again when another toast replaces this one.
  useEffect(() => {
    if (isHeld) return
    const timer = setTimeout(() => onRemove(key), durationMs)
    return () => clearTimeout(timer)
  }, [isHeld, id, key, durationMs, onRemove])
  const hold = () => setHeld(true)
  const release = () => setHeld(false)
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only stays while one of its buttons is about to be used.
    <div className="toast" data-tone={tone} onMouseEnter={hold} onMouseLeave={release} onFocus={hold} onBlur={release}>
      <Icon name={tone ? 'alert' : 'check'} />
      <p>{text}</p>
      {undo && (
        <span className="toast-undo">
          <button
            type="button"
            onClick={() => {
              undo.run()
              onRemove(key)
            }}
          >
            {undo.label ?? words.undo}
          </button>
          {keys && <kbd>{keys}</kbd>}
        </span>
      )}
      <button type="button" aria-label={words.dismiss} onClick={() => onRemove(key)}>
        <Icon name="close" />
      </button>
    </div>
  )
}
