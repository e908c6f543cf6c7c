/** The message of a new broadcast: an approved template and its values. */
import { useEffect, useRef, useState } from 'react'
import { SearchInput } from '../../../ui/controls.tsx'
import { ErrorNote, Note } from '../../../ui/display.tsx'
import { missingValues, parseTemplate, type Template } from '../templates/parse-template.ts'
import { categoryLabel, isUsable, TemplateQuality } from '../templates/status.tsx'
import { SyncTemplates } from '../templates/sync.tsx'
import { TemplateValues, type ValueErrors } from '../templates/values.tsx'
import { LinkButton } from '../ui/link-button.tsx'
import { broadcastWords } from '../words/broadcasts.ts'
import { type Change, type Draft, hasOwnValues } from './use-draft.ts'

const { compose: text } = broadcastWords

type MessageSectionProps = {
  draft: Draft
  /** Of the number, approved or not. */
  templates: readonly Template[]
  /** The name of the number, if the workspace has several. */
  senderName: string | undefined
  chosen: Template | undefined
  error: string | undefined
  errors: ValueErrors
  onChange: Change
  /** Called when the member hovers or focuses a template. */
  onPreview: (template: Template | undefined) => void
}

export function MessageSection(props: MessageSectionProps) {
  const { draft, templates, senderName, chosen, error, errors, onChange, onPreview } = props
  const [isChanging, setChanging] = useState(false)
  const changeButton = useRef<HTMLButtonElement>(null)
  const wasChosen = useRef(false)
  // After a choice, the focus moves from the removed list to the change button.
  useEffect(() => {
    if (wasChosen.current && !isChanging) changeButton.current?.focus()
    wasChosen.current = false
  })
  const choose = ({ name, language }: Template) => {
    wasChosen.current = true
    setChanging(false)
    onPreview(undefined)
    const isSame = chosen?.name === name && chosen.language === language
    onChange({ template: { name, language }, ...(isSame ? {} : { params: {} }) })
  }
  if (!chosen || isChanging) {
    const usable = templates.filter(isUsable)
    return (
      <>
        {draft.template && !chosen && <NotUsable {...props} template={draft.template} canSync={usable.length > 0} />}
        {usable.length > 0 ? (
          <TemplateList templates={usable} error={error} onChoose={choose} onPreview={onPreview} />
        ) : (
          <NoTemplates senderName={senderName} />
        )}
      </>
    )
  }
  const needsValues = missingValues(chosen, {}).length > 0
  const valuesLead = hasOwnValues(draft) ? text.otherValuesLead : text.valuesLead
  return (
    <>
      <div className="row broadcasts-chosen">
        <TemplateSummary template={chosen} />
        <button ref={changeButton} type="button" className="button" data-size="small" onClick={() => setChanging(true)}>
          {text.change}
        </button>
      </div>
      {error && <ErrorNote>{error}</ErrorNote>}
      <p className="soft small">{needsValues ? valuesLead : text.noValues}</p>
      {needsValues && (
        <TemplateValues
          template={chosen}
          params={draft.params}
          errors={errors}
          withContact
          // This form offers contact fields, so changed values are no longer literal.
          onChange={(params) => onChange({ params, template: { name: chosen.name, language: chosen.language } })}
        />
      )}
    </>
  )
}

type NotUsableProps = Pick<MessageSectionProps, 'templates' | 'senderName'> & {
  template: { name: string; language: string }
  canSync: boolean
}

/** Why the template of the draft cannot be sent. The accounts of two numbers have different templates. */
function NotUsable({ templates, senderName, template: { name, language }, canSync }: NotUsableProps) {
  const isMissing = !templates.some((each) => each.name === name && each.language === language)
  if (!senderName || !isMissing) return <Note tone="amber">{text.notApproved(name)}</Note>
  return (
    <Note tone="amber">
      <p>{text.notOfNumber(senderName, name)}</p>
      {canSync && <SyncTemplates size="small" />}
    </Note>
  )
}

const NoTemplates = ({ senderName }: { senderName: string | undefined }) => (
  <>
    <p className="soft">{senderName ? text.noTemplatesOf(senderName) : text.noTemplates}</p>
    <div className="row">
      <SyncTemplates />
      <LinkButton label={text.toTemplates} href="/templates" />
    </div>
  </>
)

type TemplateListProps = {
  templates: readonly Template[]
  error: string | undefined
  onChoose: (template: Template) => void
  onPreview: (template: Template | undefined) => void
}

function TemplateList({ templates, error, onChoose, onPreview }: TemplateListProps) {
  const [search, setSearch] = useState('')
  const found = templates.filter((template) => matchesSearch(template, search))
  return (
    <div className="field">
      <SearchInput
        label={text.searchTemplates}
        value={search}
        aria-invalid={error ? true : undefined}
        onChange={(event) => setSearch(event.target.value)}
      />
      {error && (
        <span className="error" role="alert">
          {error}
        </span>
      )}
      <ul className="broadcasts-picker" aria-label={text.template} onMouseLeave={() => onPreview(undefined)}>
        {found.map((template) => (
          <li key={`${template.name} ${template.language}`}>
            <button
              type="button"
              onMouseEnter={() => onPreview(template)}
              onFocus={() => onPreview(template)}
              onBlur={() => onPreview(undefined)}
              onClick={() => onChoose(template)}
            >
              <TemplateSummary template={template} />
            </button>
          </li>
        ))}
        {found.length === 0 && <li className="soft">{text.noneFound}</li>}
      </ul>
    </div>
  )
}

const TemplateSummary = ({ template }: { template: Template }) => (
  <span className="grow column broadcasts-summary">
    <span className="row">
      <strong>{template.name}</strong>
      <span className="soft small">{`${template.language} · ${categoryLabel(template.category)}`}</span>
      <TemplateQuality quality={template.quality} />
    </span>
    <span className="soft small cut">{parseTemplate(template).body?.text}</span>
  </span>
)

const matchesSearch = (template: Template, search: string): boolean =>
  `${template.name}\n${parseTemplate(template).body?.text ?? ''}`.toLowerCase().includes(search.trim().toLowerCase())
