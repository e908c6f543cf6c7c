/** The button that merges a contact with any other one. */
import { useState } from 'react'
import { Button } from '../../../ui/controls.tsx'
import type { DataOf } from '../lib/api.ts'
import { deferred } from '../lib/deferred.tsx'
import { useCanWrite } from '../lib/session.tsx'
import { words } from '../words/words.ts'

const MergeDialog = deferred(async () => ({ default: (await import('./merge-dialog.tsx')).MergeDialog }))

type Props = {
  contact: DataOf<'GET /contacts/{id}'>
  size?: 'small'
  /** Called with the id of the contact that stays. */
  onMerged: (id: string) => void
}

export function MergeWith({ contact, size, onMerged }: Props) {
  const [isOpen, setOpen] = useState(false)
  if (!useCanWrite()) return null
  return (
    <>
      <Button label={words.contactPanel.merge.with} icon="contacts" size={size} onClick={() => setOpen(true)} />
      {isOpen && (
        <MergeDialog
          contact={contact}
          onClose={() => setOpen(false)}
          onMerged={(id) => {
            setOpen(false)
            onMerged(id)
          }}
        />
      )}
    </>
  )
}
