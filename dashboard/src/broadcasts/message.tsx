/** What they get: an approved template, found by its name or its words, and its values. */
import { useEffect, useRef, useState } from 'react'
import { SearchInput } from '../../../ui/form.tsx'
import { Note } from '../../../ui/note.tsx'
import { missingValues, readTemplate, type Template } from '../templates/shape.ts'
import { categoryWord, isUsable, TemplateQuality } from '../templates/status.tsx'
import { type Faults, TemplateValues } from '../templates/values.tsx'
import { LinkButton } from '../ui/link-button.tsx'
import { words } from '../words/words.ts'
import type { Change, Draft } from './draft.ts'

const { compose: text } = words.broadcasts

type MessageProps = {
  draft: Draft
  templates: readonly Template[]
  chosen: Template | undefined
  fault: string | undefined
  faults: Faults
  onChange: Change
  /** Somebody looks at one before choosing it. */
  onLook: (template: Template | undefined) => void
}

export function Message({ draft, templates, chosen, fault, faults, onChange, onLook }: MessageProps) {
  const [isChanging, setChanging] = useState(false)
  const change = useRef<HTMLButtonElement>(null)
  const wasChosen = useRef(false)
  // Whoever chose with the keyboard goes on from where the list was.
  useEffect(() => {
    if (wasChosen.current && !isChanging) change.current?.focus()
    wasChosen.current = false
  })
  const choose = ({ name, language }: Template) => {
    wasChosen.current = true
    setChanging(false)
    onLook(undefined)
    const isSame = chosen?.name === name && chosen.language === language
    onChange({ template: { name, language }, ...(isSame ? {} : { params: {} }) })
  }
  if (!chosen || isChanging) {
    return (
      <>
        {draft.template && !chosen && (
          <Note tone="amber" icon="alert">
            {text.notApproved(draft.template.name)}
          </Note>
        )}
        <Picker templates={templates.filter(isUsable)} fault={fault} onChoose={choose} onLook={onLook} />
      </>
    )
  }
  const needsValues = missingValues(chosen, {}).length > 0
  return (
    <>
      <div className="broadcasts-chosen">
        <Summary template={chosen} />
        <button ref={change} type="button" className="button" data-size="small" onClick={() => setChanging(true)}>
          {text.change}
        </button>
      </div>
      {fault && (
        <Note tone="red" icon="alert">
          <p role="alert">{fault}</p>
        </Note>
      )}
      <p className="soft small">{needsValues ? text.valuesLead : text.noValues}</p>
      {needsValues && (
        <TemplateValues
          template={chosen}
          params={draft.params}
          faults={faults}
          withContact
          onChange={(params) => onChange({ params })}
        />
      )}
    </>
  )
}

type PickerProps = {
  templates: readonly Template[]
  fault: string | undefined
  onChoose: (template: Template) => void
  onLook: (template: Template | undefined) => void
}

function Picker({ templates, fault, onChoose, onLook }: PickerProps) {
  const [search, setSearch] = useState('')
  const found = templates.filter((template) => has(template, search))
  if (templates.length === 0) {
    return (
      <div className="row">
        <p className="soft grow">{text.noTemplates}</p>
        <LinkButton href="/templates">{text.toTemplates}</LinkButton>
      </div>
    )
  }
  return (
    <div className="field">
      <SearchInput
        label={text.searchTemplates}
        value={search}
        aria-invalid={fault ? true : undefined}
        onChange={(event) => setSearch(event.target.value)}
      />
      {fault && (
        <span className="fault" role="alert">
          {fault}
        </span>
      )}
      <ul className="broadcasts-picker" aria-label={text.template} onMouseLeave={() => onLook(undefined)}>
        {found.map((template) => (
          <li key={`${template.name} ${template.language}`}>
            <button
              type="button"
              onMouseEnter={() => onLook(template)}
              onFocus={() => onLook(template)}
              onBlur={() => onLook(undefined)}
              onClick={() => onChoose(template)}
            >
              <Summary template={template} />
            </button>
          </li>
        ))}
        {found.length === 0 && <li className="soft">{text.noneFound}</li>}
      </ul>
    </div>
  )
}

const Summary = ({ template }: { template: Template }) => (
  <span className="broadcasts-summary">
    <span className="row">
      <strong>{template.name}</strong>
      <span className="soft small">{`${template.language} · ${categoryWord(template.category)}`}</span>
      <TemplateQuality quality={template.quality} />
    </span>
    <span className="soft small cut">{readTemplate(template).body?.text}</span>
  </span>
)

const has = (template: Template, search: string): boolean =>
  `${template.name}\n${readTemplate(template).body?.text ?? ''}`.toLowerCase().includes(search.trim().toLowerCase())
