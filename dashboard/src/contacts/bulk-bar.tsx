/** The selected contacts of the list, and the bar with their actions: tag, remove a tag, export. */
import { useRef, useState } from 'react'
import { Combobox } from '../../../ui/combobox.tsx'
import { Button, Form, SubmitButton } from '../../../ui/controls.tsx'
import { useToast } from '../../../ui/overlays.tsx'
import { type ItemOf, readAnswer, useCall, useChange } from '../lib/api.ts'
import { useIsManager } from '../lib/session.tsx'
import { words } from '../words/words.ts'

const { contacts } = words

export type Contact = ItemOf<'GET /contacts'>

export type Selection = {
  rows: Contact[]
  has: (id: string) => boolean
  isFull: boolean
  toggle: (id: string) => void
  /** Selects the rows between the last toggled one and this one. */
  selectUpTo: (id: string) => void
  selectAll: () => void
  clear: () => void
}

/** The service takes this many contacts at once. */
const maxSelected = 500

/** The selected contacts among those that are loaded: no action changes a contact that the member does not see. */
export function useSelection(loaded: readonly Contact[]): Selection {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  /** Where a range starts. */
  const anchor = useRef('')
  const rows = loaded.filter(({ id }) => chosen.has(id)).slice(0, maxSelected)
  const selected = new Set(rows.map(({ id }) => id))
  const toggle = (id: string) => {
    anchor.current = id
    setChosen((all) => (all.has(id) ? new Set([...all].filter((one) => one !== id)) : new Set([...all, id])))
  }
  return {
    rows,
    has: (id) => selected.has(id),
    isFull: rows.length === maxSelected,
    toggle,
    selectUpTo(id) {
      const ids = loaded.map((contact) => contact.id)
      const [from, to] = [ids.indexOf(anchor.current), ids.indexOf(id)]
      if (from < 0) toggle(id)
      else setChosen((all) => new Set([...all, ...ids.slice(Math.min(from, to), Math.max(from, to) + 1)]))
    },
    selectAll: () => setChosen(new Set(loaded.map(({ id }) => id))),
    clear: () => setChosen(new Set()),
  }
}

/** The actions for the selected contacts. */
export function BulkBar({ selection }: { selection: Selection }) {
  const { rows, isFull } = selection
  const ids = rows.map(({ id }) => id)
  const isManager = useIsManager()
  const toast = useToast()
  const [tag, setTag] = useState('')
  const known = useCall('GET /tags', {}).data ?? []
  const name = tag.trim()
  const change = useChange('POST /contacts/tags', {
    stale: ['GET /contacts', 'GET /contacts/count', 'GET /tags'],
    onDone: ({ count }, { body: { ids: changed, add_tags = [], remove_tags = [] } }) => {
      const changedTags = [...add_tags, ...remove_tags]
      // The member may have typed another one meanwhile.
      setTag((typed) => (changedTags.includes(typed.trim()) ? '' : typed))
      const text = add_tags.length > 0 ? contacts.tagged : contacts.untagged
      const undo = () => change.mutate({ body: { ids: changed, add_tags: remove_tags, remove_tags: add_tags } })
      toast.success(text(changedTags.join(', '), count), undo)
    },
    reportsError: true,
  })
  /** Adds or removes the tag. Only of the contacts that this changes: undoing it then restores what was there. */
  const setTagged = (isAdded: boolean) => {
    const isNamed = (one: { name: string }) => one.name.toLowerCase() === name.toLowerCase()
    const affected = rows.filter(({ tags }) => tags.some(isNamed) !== isAdded).map(({ id }) => id)
    if (!name || change.isPending) return
    if (affected.length === 0) return toast.success(isAdded ? contacts.allTagged(name) : contacts.noneTagged(name))
    change.mutate({ body: { ids: affected, ...(isAdded ? { add_tags: [name] } : { remove_tags: [name] }) } })
  }
  const [isExporting, setExporting] = useState(false)
  const exportSelected = async () => {
    const response = await fetch('/app/api/contacts.csv', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ids }),
    })
    if (!response.ok) return void (await readAnswer(response))
    const url = URL.createObjectURL(await response.blob())
    const link = Object.assign(document.createElement('a'), { href: url, download: 'contacts.csv' })
    link.click()
    URL.revokeObjectURL(url)
  }
  return (
    <div className="row toolbar contacts-bulk" role="toolbar" aria-label={contacts.selection}>
      <strong role="status">{contacts.selected(ids.length, isFull)}</strong>
      <Button label={contacts.selectAll} size="small" onClick={selection.selectAll} />
      <Form className="contacts-bulk-tag" onSubmit={() => setTagged(true)}>
        <Combobox
          className="input"
          suggestions={known.map((one) => one.name)}
          aria-label={contacts.tagName}
          placeholder={contacts.tagName}
          maxLength={80}
          value={tag}
          onChange={setTag}
          // Enter with the text, or a suggestion, which is for both buttons.
          onCommit={(value) => (value === tag ? setTagged(true) : setTag(value))}
        />
        <SubmitButton label={contacts.addTag} size="small" disabled={!name} busy={change.isPending} />
        <Button
          label={contacts.removeTag}
          size="small"
          disabled={!name || change.isPending}
          onClick={() => setTagged(false)}
        />
      </Form>
      {isManager && (
        <Button
          label={contacts.exportSelected}
          size="small"
          icon="download"
          busy={isExporting}
          onClick={() => {
            setExporting(true)
            void exportSelected()
              .catch(toast.error)
              .finally(() => setExporting(false))
          }}
        />
      )}
      <Button label={contacts.clearSelection} size="small" variant="quiet" onClick={selection.clear} />
    </div>
  )
}
