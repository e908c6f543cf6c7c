/** The tags of a contact: take one off, put one on. Those the workspace knows are suggested; a new name makes a new tag. */
import { type FormEvent, useId, useState } from 'react'
import { IconButton } from '../../../ui/button.tsx'
import { useCall, useChange } from '../lib/api.ts'
import { faultOf } from '../lib/faults.ts'
import { Tag } from '../ui/tag.tsx'
import { words } from '../words/words.ts'
import { type Contact, showsContact } from './data.ts'

const { contact: says } = words.inbox

export function ContactTags({ contact: { id, tags } }: { contact: Contact }) {
  const [typed, setTyped] = useState('')
  const known = useCall('GET /tags', {}).data ?? []
  const list = useId()
  const change = useChange('PATCH /contacts/{id}', {
    stale: showsContact,
    // Not what somebody writes meanwhile.
    onDone: (_, { body }) => setTyped((now) => (body.tags?.includes(now.trim()) ? '' : now)),
  })
  const set = (names: string[]) => change.mutate({ params: { id }, body: { tags: names } })
  // What is on its way is there already: whoever takes off a second tag at once does not put the first one back.
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
          aria-label={says.addTag}
          aria-describedby={change.error ? `${list}-fault` : undefined}
          placeholder={says.addTag}
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
          label={says.addTag}
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
