/** Contacts that are probably the same person, each with its reason and a review before merging. */
import { useState } from 'react'
import { Button } from '../../../ui/controls.tsx'
import { type DataOf, useCall } from '../lib/api.ts'
import { deferred } from '../lib/deferred.tsx'
import { nameOf } from '../lib/people.ts'
import { words } from '../words/words.ts'

const MergeDialog = deferred(async () => ({ default: (await import('./merge-dialog.tsx')).MergeDialog }))

const { duplicates: texts } = words.contactPanel

type Contact = DataOf<'GET /contacts/{id}'>

export const useDuplicates = (id: string) => useCall('GET /contacts/{id}/duplicates', { params: { id } }).data ?? []

type Props = {
  contact: Contact
  duplicates: ReturnType<typeof useDuplicates>
  /** Called with the id of the contact that stays. */
  onMerged: (id: string) => void
}

export function Duplicates({ contact, duplicates, onMerged }: Props) {
  const [reviewed, setReviewed] = useState<Contact>()
  return (
    <>
      <ul className="duplicates">
        {duplicates.map(({ contact: other, reason }) => (
          <li key={other.id}>
            <span className="column">
              <strong className="cut">{nameOf(other)}</strong>
              <span className="soft small">{texts.reasons[reason]}</span>
            </span>
            <Button
              label={texts.review}
              size="small"
              aria-label={texts.reviewOf(nameOf(other))}
              onClick={() => setReviewed(other)}
            />
          </li>
        ))}
      </ul>
      {reviewed && (
        <MergeDialog
          contact={contact}
          other={reviewed}
          onClose={() => setReviewed(undefined)}
          onMerged={(id) => {
            setReviewed(undefined)
            onMerged(id)
          }}
        />
      )}
    </>
  )
}
