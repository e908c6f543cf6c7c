/**
 * Where the contact panel is shown. On a wide window it is docked beside the thread unless the member hid it, which this
 * browser remembers. On a narrow window it opens as a drawer.
 */
import { useCallback, useEffect, useState } from 'react'

const storageKey = 'parley-inbox-contact'
const wideQuery = '(min-width: 84rem)'

export type ContactPanelState = { isDocked: boolean; isDrawerOpen: boolean; toggle: () => void }

export function useContactPanel(): ContactPanelState {
  const [isWide, setWide] = useState(() => matchMedia(wideQuery).matches)
  const [isHidden, setHidden] = useState(() => localStorage.getItem(storageKey) === 'folded')
  const [isDrawerOpen, setDrawerOpen] = useState(false)
  useEffect(() => {
    const query = matchMedia(wideQuery)
    const change = () => {
      setWide(query.matches)
      setDrawerOpen(false)
    }
    query.addEventListener('change', change)
    return () => query.removeEventListener('change', change)
  }, [])
  const toggle = useCallback(() => {
    if (!isWide) return setDrawerOpen((isOpen) => !isOpen)
    localStorage.setItem(storageKey, isHidden ? 'shown' : 'folded')
    setHidden(!isHidden)
  }, [isWide, isHidden])
  return { isDocked: isWide && !isHidden, isDrawerOpen: !isWide && isDrawerOpen, toggle }
}
