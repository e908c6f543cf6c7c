/** Adds and removes tags of a contact. Existing tags are suggested; a new name creates a tag. */
import { useId, useState } from 'react'
import { Combobox } from '../../../../ui/combobox.tsx'
import { IconButton } from '../../../../ui/controls.tsx'
import { useCall, useChange } from '../../lib/api.ts'
import { fieldErrorOf } from '../../lib/field-errors.ts'
import { Tag } from '../../ui/tag.tsx'
import { words } from '../../words/words.ts'
import { type Contact, contactQueries } from '../model/data.ts'

const { contact: labels } = words.inbox

export function ContactTags({ contact: { id, tags } }: { contact: Contact }) {
  const [typed, setTyped] = useState('')
  const known = useCall('GET /tags', {}).data ?? []
  const errorId = useId()
  const change = useChange('PATCH /contacts/{id}', {
    stale: contactQueries,
    inOrderFor: `tags of ${id}`,
    // Clears the input only if it still holds the tag that was added.
    onDone: (_, { body }) => setTyped((now) => (body.tags?.includes(now.trim()) ? '' : now)),
  })
  const set = (names: string[]) => change.mutate({ params: { id }, body: { tags: names } })
  // While a change is in flight, the next one starts from it. Otherwise a second removal would restore the first tag.
  const names = (change.isPending && change.variables.body.tags) || tags.map(({ name }) => name)
  const add = (text: string) => {
    const name = text.trim()
    if (name) set([...names, name])
  }
  const has = new Set(names.map((name) => name.toLowerCase()))
  return (
    <>
      {tags.length > 0 && (
        <div className="inbox-tags">
          {tags
            .filter(({ name }) => names.includes(name))
            .map(({ id: tagId, name, color }) => (
              <Tag key={tagId} name={name} color={color} onRemove={() => set(names.filter((one) => one !== name))} />
            ))}
        </div>
      )}
      <div className="line inbox-tag-form">
        <Combobox
          className="input"
          suggestions={known.map(({ name }) => name).filter((name) => !has.has(name.toLowerCase()))}
          aria-label={labels.addTag}
          aria-describedby={change.error ? errorId : undefined}
          placeholder={labels.addTag}
          maxLength={80}
          value={typed}
          onChange={setTyped}
          onCommit={add}
        />
        <IconButton
          label={labels.addTag}
          icon="plus"
          busy={change.isPending}
          disabled={!typed.trim()}
          onClick={() => add(typed)}
        />
      </div>
      {change.error && (
        <p className="error" id={errorId} role="alert">
          {fieldErrorOf(change.error, 'tags')}
        </p>
      )}
    </>
  )
}
