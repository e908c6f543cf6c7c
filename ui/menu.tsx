/** A button with a list of deeds or choices under it: arrow keys move, Escape closes, a click elsewhere too. */
import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react'

type MenuItem =
  | { kind?: 'item'; label: ReactNode; onSelect: () => void; checked?: boolean; danger?: boolean; key?: string }
  | { kind: 'line'; key?: string }

type MenuProps = {
  /** What is pressed; gets the props that make it a menu button. */
  button: (props: {
    onClick: () => void
    'aria-haspopup': 'menu'
    'aria-expanded': boolean
    'aria-controls': string
  }) => ReactNode
  items: readonly MenuItem[]
  label: string
  side?: 'left' | 'right'
  up?: boolean
}

export function Menu({ button, items, label, side = 'right', up = false }: MenuProps) {
  const [isOpen, setOpen] = useState(false)
  const id = useId()
  const root = useRef<HTMLDivElement>(null)
  const list = useRef<HTMLDivElement>(null)

  useEffect(() => {
    if (!isOpen) return
    choices(list.current)[0]?.focus()
    const closeElsewhere = (event: Event) => {
      if (event.target instanceof Node && !root.current?.contains(event.target)) setOpen(false)
    }
    document.addEventListener('pointerdown', closeElsewhere)
    return () => document.removeEventListener('pointerdown', closeElsewhere)
  }, [isOpen])

  const close = () => {
    setOpen(false)
    root.current?.querySelector<HTMLElement>('[aria-haspopup]')?.focus()
  }
  const move = (event: KeyboardEvent) => {
    const all = choices(list.current)
    const at = all.indexOf(document.activeElement as HTMLElement)
    const next = { ArrowDown: at + 1, ArrowUp: at - 1 + all.length, Home: 0, End: all.length - 1 }[event.key]
    if (event.key === 'Escape' || event.key === 'Tab') close()
    // Only the menu: a dialog around it stays.
    if (event.key === 'Escape') {
      event.stopPropagation()
      event.preventDefault()
    }
    if (next === undefined) return
    event.preventDefault()
    all[next % all.length]?.focus()
  }
  return (
    <div className="menu" ref={root}>
      {button({
        onClick: () => setOpen(!isOpen),
        'aria-haspopup': 'menu',
        'aria-expanded': isOpen,
        'aria-controls': id,
      })}
      {isOpen && (
        <div
          className="menu-list"
          id={id}
          ref={list}
          role="menu"
          aria-label={label}
          data-side={side}
          data-up={up ? '' : undefined}
          onKeyDown={move}
          tabIndex={-1}
        >
          {items.map((item, place) =>
            item.kind === 'line' ? (
              <hr key={item.key ?? place} />
            ) : (
              <button
                key={item.key ?? place}
                type="button"
                {...(item.checked === undefined
                  ? { role: 'menuitem' }
                  : { role: 'menuitemradio', 'aria-checked': item.checked })}
                data-danger={item.danger ? '' : undefined}
                onClick={() => {
                  close()
                  item.onSelect()
                }}
              >
                {item.label}
              </button>
            ),
          )}
        </div>
      )}
    </div>
  )
}

const choices = (list: HTMLElement | null): HTMLElement[] => [...(list?.querySelectorAll<HTMLElement>('button') ?? [])]
