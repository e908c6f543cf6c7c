/**
 * A button that opens a list of actions or choices.
 *
 * Base UI (`base-menu.tsx`, 60 KB compressed) loads after the first paint. Until then the button is a plain one: a press loads the
 * list at once and opens it.
 */
import { cloneElement, type KeyboardEvent, useEffect, useRef, useState } from 'react'
import type { MenuProps } from './base-menu.tsx'

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
  const [base, setBase] = useState(loaded)
  const start = useRef({ isOpen: false, hasFocus: false })
  const load = () => {
    // After a failed load, the next press tries again.
    loadBaseMenu().then(setBase, () => {})
  }
  const open = () => {
    start.current.isOpen = true
    load()
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, after the first paint.
  useEffect(() => {
    if (!base) load()
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
    onClick: open,
    onKeyDown: ({ key }: KeyboardEvent) => {
      if (key === 'ArrowDown' || key === 'ArrowUp') open()
    },
  })
}
