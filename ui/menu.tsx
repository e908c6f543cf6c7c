/**
 * A button that opens a list of actions or choices.
 *
 * Base UI (`base-menu.tsx`, 60 KB compressed) loads after the first paint. The button is a plain one until its first press, which
 * builds the list and opens it: a closed menu of Base UI costs a millisecond to render, and a conversation has three.
 */
import { cloneElement, type KeyboardEvent, type MouseEvent, useEffect, useRef, useState } from 'react'
import type { MenuProps, MenuStart } from './base-menu.tsx'

type BaseMenu = typeof import('./base-menu.tsx')

let loaded: BaseMenu | undefined
let loading: Promise<BaseMenu> | undefined

/** Concurrent callers share one load. A failed load is not kept. */
function loadBaseMenu(): Promise<BaseMenu> {
  loading ??= import('./base-menu.tsx').then(
    (module) => {
      loaded = module
      return module
    },
    (error: unknown) => {
      loading = undefined
      throw error
    },
  )
  return loading
}

export function Menu(props: MenuProps) {
  const [base, setBase] = useState<BaseMenu>()
  const start = useRef<MenuStart>({ hasFocus: false })
  const open = (press: MenuStart['press']) => {
    start.current.press = press
    if (loaded) setBase(loaded)
    // After a failed load, the next press tries again.
    else loadBaseMenu().then(setBase, () => {})
  }
  // Once, after the first paint.
  useEffect(() => {
    loadBaseMenu().catch(() => {})
  }, [])
  if (base) return <base.LoadedMenu {...props} start={start.current} />
  return cloneElement(props.button, {
    'aria-haspopup': 'menu',
    'aria-expanded': false,
    onFocus: () => {
      start.current.hasFocus = true
    },
    onBlur: () => {
      start.current.hasFocus = false
    },
    // A click by keyboard has no click count.
    onClick: ({ detail }: MouseEvent) => open(detail > 0 ? 'pointer' : 'Enter'),
    onKeyDown: (event: KeyboardEvent) => {
      if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
      event.preventDefault()
      open(event.key)
    },
  })
}
