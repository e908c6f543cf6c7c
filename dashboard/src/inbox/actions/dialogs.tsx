/** The popovers of the inbox that several parts open: snooze, send later, labels, filters, views. They load after the first paint. */
import { useEffect } from 'react'
import { deferred } from '../../lib/deferred.tsx'
import { useHeldShortcuts } from '../../lib/shortcuts.ts'
import { createStore } from '../../lib/store.ts'
import { type Anchor, focusedAnchor } from '../../ui/popover.tsx'
import type { Conversation } from '../model/data.ts'
import type { SendTime } from '../model/scheduled.ts'

type InboxDialog =
  | { kind: 'snooze'; rows: readonly Conversation[]; onChoose: (until: string | null) => void }
  | { kind: 'later'; closesAt: number | null; onChoose: (time: SendTime) => void }
  | { kind: 'labels'; ids: readonly string[] }
  | { kind: 'filters' }
  | { kind: 'views' }

const open = createStore<(InboxDialog & { anchor: Anchor | undefined }) | undefined>(() => undefined)
/** Opens beside its control, also when a key opened it. */
export const openDialog = (dialog: InboxDialog): void => open.set({ ...dialog, anchor: findAnchor(dialog.kind) })

/** The focused control if it opens the dialog, else the first one that does. Without one, the focused row. */
function findAnchor(kind: InboxDialog['kind']): Anchor | undefined {
  const controls = [...document.querySelectorAll(`[data-opens="${kind}"]`)]
  const control =
    controls.find((one) => one === document.activeElement) ?? controls.find((one) => one.checkVisibility())
  control?.scrollIntoView({ block: 'nearest' })
  return control?.getBoundingClientRect() ?? focusedAnchor()
}

const SnoozeDialog = deferred(() => import('./snooze-dialog.tsx'))
const LaterDialog = deferred(() => import('./later-dialog.tsx'))
const LabelDialog = deferred(() => import('./label-dialog.tsx'))
const FilterDialog = deferred(() => import('./filter-dialog.tsx'))
const ViewDialog = deferred(() => import('./view-dialog.tsx'))

const close = () => open.set(undefined)

export function InboxDialogs() {
  const dialog = open.useValue((opened) => opened)
  useHeldShortcuts(dialog !== undefined)
  // Early, so that they open at once.
  useEffect(() => {
    for (const dialog of [SnoozeDialog, LaterDialog, LabelDialog, FilterDialog, ViewDialog]) dialog.preload()
  }, [])
  const place = { anchor: dialog?.anchor, onClose: close }
  return (
    <>
      {dialog?.kind === 'snooze' && <SnoozeDialog rows={dialog.rows} onChoose={dialog.onChoose} {...place} />}
      {dialog?.kind === 'later' && <LaterDialog closesAt={dialog.closesAt} onChoose={dialog.onChoose} {...place} />}
      {dialog?.kind === 'labels' && <LabelDialog ids={dialog.ids} {...place} />}
      {dialog?.kind === 'filters' && <FilterDialog {...place} />}
      {dialog?.kind === 'views' && <ViewDialog {...place} />}
    </>
  )
}
