/** The dialogs of the inbox that several parts open: snooze, labels, filters, views. They load after the first paint. */
import { lazy, Suspense, useEffect } from 'react'
import { createStore } from '../../lib/store.ts'
import type { Conversation } from '../model/data.ts'

type InboxDialog =
  | { kind: 'snooze'; rows: readonly Conversation[]; onChoose: (until: string | null) => void }
  | { kind: 'labels'; ids: readonly string[] }
  | { kind: 'filters' }
  | { kind: 'views' }

const open = createStore<InboxDialog | undefined>(() => undefined)
export const openDialog = open.set

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
  const dialog = open.useValue((opened) => opened)
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
