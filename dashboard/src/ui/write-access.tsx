/** What a viewer sees of the controls that change data. The service refuses the calls; the pages say so beforehand. */
import type { ReactNode } from 'react'
import { Note } from '../../../ui/note.tsx'
import { EmptyState } from '../../../ui/state.tsx'
import { useCanWrite } from '../lib/session.tsx'
import { words } from '../words/words.ts'

/** Disables all form controls inside for a viewer. Links still work. */
export const WriteAccess = ({ children }: { children: ReactNode }) => (
  <fieldset className="write-access" disabled={!useCanWrite()}>
    {children}
  </fieldset>
)

/** A note for viewers. Other members see nothing. */
export const ViewerNote = () => (useCanWrite() ? null : <Note icon="lock">{words.common.viewerOnly}</Note>)

/** A page that only changes something. A viewer sees the reason instead. */
export function WritersOnly({ children }: { children: ReactNode }) {
  if (useCanWrite()) return children
  return (
    <EmptyState icon="lock" title={words.common.viewerTitle}>
      {words.common.viewerOnly}
    </EmptyState>
  )
}
