/** An input for tags: Enter adds the typed tag, the cross removes one. Existing tags are suggested. */
import { type KeyboardEvent, useState } from 'react'
import { Combobox } from '../../../ui/combobox.tsx'
import { useCall } from '../lib/api.ts'
import { Tag } from '../ui/tag.tsx'
import { words } from '../words/words.ts'

const { contacts } = words

type TagInputProps = { names: readonly string[]; onChange: (names: string[]) => void; disabled?: boolean }

export function TagInput({ names, onChange, disabled = false }: TagInputProps) {
  const [draft, setDraft] = useState('')
  const known = useCall('GET /tags', {})
  const colorOf = (name: string) =>
    known.data?.find((tag) => tag.name.toLowerCase() === name.toLowerCase())?.color ?? 'var(--line-strong)'
  const add = (text: string) => {
    const name = text.trim()
    setDraft('')
    if (name && !names.some((other) => other.toLowerCase() === name.toLowerCase())) onChange([...names, name])
  }
  const press = (event: KeyboardEvent) => {
    if (event.key === ',' && !event.nativeEvent.isComposing) {
      event.preventDefault()
      add(draft)
    }
    if (event.key === 'Backspace' && draft === '' && names.length > 0) onChange(names.slice(0, -1))
  }
  return (
    <div className="row contacts-tags">
      {names.map((name) => (
        <Tag
          key={name}
          name={name}
          color={colorOf(name)}
          onRemove={disabled ? undefined : () => onChange(names.filter((other) => other !== name))}
        />
      ))}
      <Combobox
        suggestions={(known.data ?? []).map(({ name }) => name).filter((name) => !names.includes(name))}
        value={draft}
        disabled={disabled}
        maxLength={80}
        placeholder={contacts.addTag}
        aria-label={contacts.addTag}
        onChange={setDraft}
        onCommit={add}
        onKeyDown={press}
        onBlur={() => add(draft)}
      />
    </div>
  )
}
