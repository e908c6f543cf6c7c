/**
 * Where a panel of the inbox is shown. On a wide window it is docked beside the other parts unless the member hid it, which this browser
 * remembers. On a narrow window it opens as a drawer.
 */
import { useCallback, useState } from 'react'
import { useMedia } from '../../lib/hooks.ts'

type SidePanelState = { isDocked: boolean; isDrawerOpen: boolean; toggle: () => void }
export type ContactPanelState = SidePanelState
export type SidebarState = SidePanelState

/** `shownQuery`: the windows in which it is docked before the member chose. */
type SidePanel = { storageKey: string; wideQuery: string; shownQuery: string }

const wideQuery = '(min-width: 84rem)'
const contactPanel: SidePanel = { storageKey: 'parley-inbox-contact', wideQuery, shownQuery: wideQuery }
const sidebar: SidePanel = { storageKey: 'parley-inbox-sidebar', wideQuery, shownQuery: '(min-width: 104rem)' }

export const useContactPanel = (): ContactPanelState => useSidePanel(contactPanel)
export const useSidebar = (): SidebarState => useSidePanel(sidebar)

function useSidePanel({ storageKey, wideQuery, shownQuery }: SidePanel): SidePanelState {
  const isWide = useMedia(wideQuery)
  const isShownFirst = useMedia(shownQuery)
  const [stored, setStored] = useState(() => localStorage.getItem(storageKey))
  const [isDrawerOpen, setDrawerOpen] = useState(false)
  const isShown = stored ? stored === 'shown' : isShownFirst
  const toggle = useCallback(() => {
    if (!isWide) return setDrawerOpen((isOpen) => !isOpen)
    const next = isShown ? 'folded' : 'shown'
    localStorage.setItem(storageKey, next)
    setStored(next)
  }, [storageKey, isWide, isShown])
  return { isDocked: isWide && isShown, isDrawerOpen: !isWide && isDrawerOpen, toggle }
}
