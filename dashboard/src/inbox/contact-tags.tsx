/** Adds and removes tags of a contact. Existing tags are suggested; a new name creates a tag. */
import { type FormEvent, useId, useState } from 'react'
import { IconButton } from '../../../ui/button.tsx'
import { useCall, useChange } from '../lib/api.ts'
import { faultOf } from '../lib/faults.ts'
import { Tag } from '../ui/tag.tsx'
import { words } from '../words/words.ts'
import { type Contact, contactQueries } from './data.ts'

const { contact: labels } = words.inbox

export function ContactTags({ contact: { id, tags } }: { contact: Contact }) {
  const [typed, setTyped] = useState('')
  const known = useCall('GET /tags', {}).data ?? []
  const list = useId()
  const change = useChange('PATCH /contacts/{id}', {
    stale: contactQueries,
    // Clears the input only if it still holds the tag that was added.
    onDone: (_, { body }) => setTyped((now) => (body.tags?.includes(now.trim()) ? '' : now)),
  })
  const set = (names: string[]) => change.mutate({ params: { id }, body: { tags: names } })
  // While a change is in flight, the next one starts from it. Otherwise a second removal would restore the first tag.
  const names = (change.isPending && change.variables.body.tags) || tags.map(({ name }) => name)
  const add = (event: FormEvent) => {
    event.preventDefault()
    const name = typed.trim()
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
      <form className="inbox-tag-form" onSubmit={add}>
        <input
          className="input"
          list={list}
          aria-label={labels.addTag}
          aria-describedby={change.error ? `${list}-fault` : undefined}
          placeholder={labels.addTag}
          maxLength={80}
          value={typed}
          autoComplete="off"
          onChange={(event) => setTyped(event.target.value)}
        />
        <datalist id={list}>
          {known
            .filter(({ name }) => !has.has(name.toLowerCase()))
            .map(({ id: tagId, name }) => (
              <option key={tagId} value={name} />
            ))}
        </datalist>
        <IconButton
          label={labels.addTag}
          icon="plus"
          size="small"
          busy={change.isPending}
          disabled={!typed.trim()}
          onClick={add}
        />
      </form>
      {change.error && (
        <p className="inbox-fault" id={`${list}-fault`} role="alert">
          {faultOf(change.error, 'tags')}
        </p>
      )}
    </>
  )
}
