/** The dialogs of the inbox that several parts open: snooze, labels, filters, views. They load when they open. */
import { lazy, Suspense, useSyncExternalStore } from 'react'
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

const SnoozeDialog = lazy(() => import('./snooze-dialog.tsx'))
const LabelDialog = lazy(() => import('./label-dialog.tsx'))
const FilterDialog = lazy(() => import('./filter-dialog.tsx'))
const ViewDialog = lazy(() => import('./view-dialog.tsx'))

const close = () => openDialog(undefined)

export function InboxDialogs() {
  const dialog = useSyncExternalStore(subscribe, () => open)
  return (
    <Suspense>
      {dialog?.kind === 'snooze' && <SnoozeDialog rows={dialog.rows} onChoose={dialog.onChoose} onClose={close} />}
      {dialog?.kind === 'labels' && <LabelDialog ids={dialog.ids} onClose={close} />}
      {dialog?.kind === 'filters' && <FilterDialog onClose={close} />}
      {dialog?.kind === 'views' && <ViewDialog onClose={close} />}
    </Suspense>
  )
}
