/**
 * Where a panel of the inbox is shown. On a wide window it is docked beside the other parts unless the member hid it, which this browser
 * remembers. On a narrow window it opens as a drawer, with an entry of the history, so that Back closes it.
 */
import { useCallback, useState } from 'react'
import { navigate, useLocationProperty } from 'wouter/use-browser-location'
import { useMedia } from '../../lib/hooks.ts'

type SidePanelState = { isDocked: boolean; isDrawerOpen: boolean; toggle: () => void }
export type ContactPanelState = SidePanelState
export type SidebarState = SidePanelState

type SidePanel = { storageKey: string; wideQuery: string }

const contactPanel: SidePanel = { storageKey: 'parley-inbox-contact', wideQuery: '(min-width: 84rem)' }
/** Where the navigation has names (`shell.css`). */
const sidebar: SidePanel = { storageKey: 'parley-inbox-sidebar', wideQuery: '(min-width: 68.01rem)' }

export const useContactPanel = (): ContactPanelState => useSidePanel(contactPanel)
export const useSidebar = (): SidebarState => useSidePanel(sidebar)

const isInDrawer = (storageKey: string): boolean => history.state?.drawer === storageKey

function useSidePanel({ storageKey, wideQuery }: SidePanel): SidePanelState {
  const isWide = useMedia(wideQuery)
  const [stored, setStored] = useState(() => localStorage.getItem(storageKey))
  const isDrawerOpen = useLocationProperty(() => isInDrawer(storageKey))
  const isShown = stored !== 'folded'
  const toggle = useCallback(() => {
    if (!isWide) {
      if (isInDrawer(storageKey)) history.back()
      // What the member chose in the drawer may have left its entry, which closed it.
      else if (!isDrawerOpen) navigate(location.href, { state: { drawer: storageKey } })
      return
    }
    const next = isShown ? 'folded' : 'shown'
    localStorage.setItem(storageKey, next)
    setStored(next)
  }, [storageKey, isWide, isShown, isDrawerOpen])
  return { isDocked: isWide && isShown, isDrawerOpen: !isWide && isDrawerOpen, toggle }
}
