/** An input for names of tags or labels: Enter adds the typed one, the cross removes one. Existing ones are suggested. */
import './tag-input.css'
import { type KeyboardEvent, useState } from 'react'
import { Combobox } from '../../../ui/combobox.tsx'
import { useCall } from '../lib/api.ts'
import { Tag } from '../ui/tag.tsx'
import { words } from '../words/words.ts'

const texts = {
  tag: { call: 'GET /tags', add: words.contacts.addTag, remove: words.common.removeTag },
  label: { call: 'GET /labels', add: words.common.addLabel, remove: words.common.removeLabel },
} as const

type TagInputProps = {
  kind?: keyof typeof texts
  names: readonly string[]
  onChange: (names: string[]) => void
  disabled?: boolean
}

export function TagInput({ kind = 'tag', names, onChange, disabled = false }: TagInputProps) {
  const text = texts[kind]
  const [draft, setDraft] = useState('')
  const known = useCall(text.call, {})
  const colorOf = (name: string) =>
    known.data?.find((tag) => tag.name.toLowerCase() === name.toLowerCase())?.color ?? 'var(--line-strong)'
  const add = (entered: string) => {
    const name = entered.trim()
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
          icon={kind}
          removeLabel={text.remove(name)}
          color={colorOf(name)}
          onRemove={disabled ? undefined : () => onChange(names.filter((other) => other !== name))}
        />
      ))}
      <Combobox
        suggestions={(known.data ?? []).map(({ name }) => name).filter((name) => !names.includes(name))}
        value={draft}
        disabled={disabled}
        maxLength={80}
        placeholder={text.add}
        aria-label={text.add}
        onChange={setDraft}
        onCommit={add}
        onKeyDown={press}
        onBlur={() => add(draft)}
      />
    </div>
  )
}
