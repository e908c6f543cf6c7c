/** The tags of somebody: taken off by their cross, added by writing a name and Enter, with those the workspace knows offered. */
import { type KeyboardEvent, useId, useState } from 'react'
import { useCall } from '../lib/api.ts'
import { Tag } from '../ui/tag.tsx'
import { words } from '../words/words.ts'

const { contacts } = words

type TagInputProps = { names: readonly string[]; onChange: (names: string[]) => void; disabled?: boolean }

export function TagInput({ names, onChange, disabled = false }: TagInputProps) {
  const [draft, setDraft] = useState('')
  const known = useCall('GET /tags', {})
  const id = useId()
  const colorOf = (name: string) =>
    known.data?.find((tag) => tag.name.toLowerCase() === name.toLowerCase())?.color ?? 'var(--line-strong)'
  const add = () => {
    const name = draft.trim()
    setDraft('')
    if (name && !names.some((other) => other.toLowerCase() === name.toLowerCase())) onChange([...names, name])
  }
  const press = (event: KeyboardEvent) => {
    // The Enter that ends the choice of a sign is not the one that adds.
    if (event.nativeEvent.isComposing) return
    if (event.key === 'Enter' || event.key === ',') {
      event.preventDefault()
      add()
    }
    if (event.key === 'Backspace' && draft === '' && names.length > 0) onChange(names.slice(0, -1))
  }
  return (
    <div className="contacts-tags">
      {names.map((name) => (
        <Tag
          key={name}
          name={name}
          color={colorOf(name)}
          onRemove={disabled ? undefined : () => onChange(names.filter((other) => other !== name))}
        />
      ))}
      <input
        list={id}
        value={draft}
        disabled={disabled}
        maxLength={80}
        placeholder={contacts.addTag}
        aria-label={contacts.addTag}
        onChange={(event) => setDraft(event.target.value)}
        onKeyDown={press}
        onBlur={add}
      />
      <datalist id={id}>
        {known.data
          ?.filter((tag) => !names.includes(tag.name))
          .map(({ id, name }) => (
            <option key={id} value={name} />
          ))}
      </datalist>
    </div>
  )
}
