/** The dialogs of the inbox that several parts open: snooze, labels, filters, views. They load after the first paint. */
import { lazy, Suspense, useEffect, useSyncExternalStore } from 'react'
import type { Conversation } from '../model/data.ts'

export type InboxDialog =
  | { kind: 'snooze'; rows: readonly Conversation[]; onChoose: (until: string | null) => void }
  | { kind: 'labels'; ids: readonly string[] }
  | { kind: 'filters' }
  | { kind: 'views' }

let open: InboxDialog | undefined
const listeners = new Set<() => void>()

export function openDialog(next: InboxDialog | undefined): void {
  open = next
  for (const listener of listeners) listener()
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

const imports = {
  snooze: () => import('./snooze-dialog.tsx'),
  labels: () => import('./label-dialog.tsx'),
  filters: () => import('./filter-dialog.tsx'),
  views: () => import('./view-dialog.tsx'),
}
const SnoozeDialog = lazy(imports.snooze)
const LabelDialog = lazy(imports.labels)
const FilterDialog = lazy(imports.filters)
const ViewDialog = lazy(imports.views)

const close = () => openDialog(undefined)

export function InboxDialogs() {
  const dialog = useSyncExternalStore(subscribe, () => open)
  // Early, so that the letters typed after the key of a dialog go to it and are no shortcuts.
  useEffect(() => {
    for (const load of Object.values(imports)) load().catch(() => {})
  }, [])
  return (
    <Suspense>
      {dialog?.kind === 'snooze' && <SnoozeDialog rows={dialog.rows} onChoose={dialog.onChoose} onClose={close} />}
      {dialog?.kind === 'labels' && <LabelDialog ids={dialog.ids} onClose={close} />}
      {dialog?.kind === 'filters' && <FilterDialog onClose={close} />}
      {dialog?.kind === 'views' && <ViewDialog onClose={close} />}
    </Suspense>
  )
}
