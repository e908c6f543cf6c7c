/** Adds contacts to a static segment: search, select, add. */
import { useState } from 'react'
import { Button, Checkbox, SearchInput } from '../../../ui/controls.tsx'
import { ErrorNote } from '../../../ui/display.tsx'
import { Dialog } from '../../../ui/overlays.tsx'
import { describeError, useChange, usePages } from '../lib/api.ts'
import { useDebounced } from '../lib/hooks.ts'
import { nameOf } from '../lib/people.ts'
import { PagedList } from '../ui/page.tsx'
import { words } from '../words/words.ts'

const { segments } = words

export function AddContacts({ segmentId, onClose }: { segmentId: string; onClose: () => void }) {
  const [search, setSearch] = useState('')
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const searchText = useDebounced(search.trim())
  const pages = usePages('GET /contacts', { query: searchText ? { search: searchText } : {} }, { keepPrevious: true })
  const add = useChange('POST /segments/{id}/contacts', {
    stale: ['GET /segments/{id}', 'GET /segments/{id}/contacts'],
    done: ({ added }) => segments.added(added),
    onDone: onClose,
  })
  const toggle = (id: string, isSelected: boolean) => {
    const next = new Set(selected)
    if (isSelected) next.add(id)
    else next.delete(id)
    setSelected(next)
  }
  return (
    <Dialog title={segments.addTitle} onClose={onClose}>
      <SearchInput
        autoFocus
        label={segments.addSearch}
        value={search}
        onChange={(event) => setSearch(event.target.value)}
      />
      <div className="segments-people">
        <PagedList pages={pages} empty={<p className="soft">{segments.noMatch}</p>}>
          {(contacts) =>
            contacts.map((contact) => (
              <Checkbox
                key={contact.id}
                label={nameOf(contact)}
                hint={contact.name ? contact.phone : undefined}
                checked={selected.has(contact.id)}
                disabled={!selected.has(contact.id) && selected.size >= 1_000}
                onChange={(event) => toggle(contact.id, event.target.checked)}
              />
            ))
          }
        </PagedList>
      </div>
      {add.error && <ErrorNote>{describeError(add.error)}</ErrorNote>}
      <div className="dialog-foot">
        <Button label={words.common.cancel} onClick={onClose} />
        <Button
          label={segments.addDo(selected.size)}
          variant="primary"
          disabled={selected.size === 0}
          busy={add.isPending}
          onClick={() => add.mutate({ params: { id: segmentId }, body: { contact_ids: [...selected] } })}
        />
      </div>
    </Dialog>
  )
}
