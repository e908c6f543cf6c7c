/** The buttons of a message, and the rows of a list. The ids are made from the titles. */
import { Button, IconButton, Input, InputField } from '../../../../../ui/controls.tsx'
import { editorWords } from '../../../words/automation-editor.ts'
import { useEditing } from '../context.ts'
import type { Interactive, Option, Section } from '../model/definition.ts'
import { newOption, retitle } from '../model/options.ts'
import { RowButtons } from './row-buttons.tsx'

const { forms: text } = editorWords

type ButtonsMessage = Extract<Interactive, { kind: 'buttons' }>
type ListMessage = Extract<Interactive, { kind: 'list' }>
type EditorProps<Kind extends Interactive> = { interactive: Kind; onChange: (next: Kind, field?: string) => void }

const maxButtons = 3
const maxRows = 10

export function ButtonsEditor({ interactive, onChange }: EditorProps<ButtonsMessage>) {
  const { used } = useEditing()
  const { buttons } = interactive
  const change = (next: Option[], field?: string) => onChange({ ...interactive, buttons: next }, field)
  return (
    <fieldset className="stack stack-tight">
      <legend className="label">{text.buttons}</legend>
      <OptionLines
        options={buttons}
        nameOf={text.button}
        maxLength={20}
        onTitle={(index, title) =>
          change(
            retitle(buttons, index, title, (id) => used.has(id)),
            `button ${index}`,
          )
        }
        onChange={change}
      />
      <div className="row">
        <Button
          label={text.addButton}
          icon="plus"
          size="small"
          disabled={buttons.length >= maxButtons}
          onClick={() => change([...buttons, newOption(buttons)])}
        />
      </div>
    </fieldset>
  )
}

export function ListEditor({ interactive, onChange }: EditorProps<ListMessage>) {
  const { used } = useEditing()
  const { sections } = interactive
  const all = sections.flatMap(({ rows }) => rows)
  const change = (index: number, section: Section, field?: string) =>
    onChange({ ...interactive, sections: sections.map((each, i) => (i === index ? section : each)) }, field)
  const setTitle = (index: number, row: number, title: string) => {
    const section = sections[index]
    if (!section) return
    // Ids are unique in all sections.
    const before = sections.slice(0, index).flatMap(({ rows }) => rows).length
    const titled = retitle(all, before + row, title, (id) => used.has(id))
    change(index, { ...section, rows: titled.slice(before, before + section.rows.length) }, `row ${index} ${row}`)
  }
  return (
    <>
      <InputField
        label={text.listButton}
        maxLength={20}
        value={interactive.button}
        onChange={({ target }) => onChange({ ...interactive, button: target.value }, 'button')}
      />
      {sections.map((section, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a section has no identity but its position.
        <fieldset key={index} className="stack stack-tight editor-section">
          <legend className="label">{text.section(index + 1)}</legend>
          <div className="line">
            <Input
              aria-label={text.sectionTitle}
              placeholder={text.sectionTitle}
              maxLength={24}
              value={section.title}
              onChange={({ target }) => change(index, { ...section, title: target.value }, `section ${index}`)}
            />
            {sections.length > 1 && (
              <IconButton
                icon="close"
                label={text.remove(text.section(index + 1))}
                onClick={() => onChange({ ...interactive, sections: sections.toSpliced(index, 1) })}
              />
            )}
          </div>
          <OptionLines
            options={section.rows}
            nameOf={text.row}
            maxLength={24}
            hasDescription
            onTitle={(row, title) => setTitle(index, row, title)}
            onChange={(rows, field) => change(index, { ...section, rows }, field)}
          />
          <div className="row">
            <Button
              label={text.addRow}
              icon="plus"
              size="small"
              disabled={all.length >= maxRows}
              onClick={() => change(index, { ...section, rows: [...section.rows, newOption(all)] })}
            />
          </div>
        </fieldset>
      ))}
      <div className="row">
        <Button
          label={text.addSection}
          icon="plus"
          size="small"
          disabled={all.length >= maxRows}
          onClick={() => onChange({ ...interactive, sections: [...sections, { title: '', rows: [newOption(all)] }] })}
        />
      </div>
    </>
  )
}

type OptionLinesProps = {
  options: readonly Option[]
  nameOf: (number: number) => string
  maxLength: number
  hasDescription?: boolean
  onTitle: (index: number, title: string) => void
  onChange: (options: Option[], field?: string) => void
}

function OptionLines({ options, nameOf, maxLength, hasDescription = false, onTitle, onChange }: OptionLinesProps) {
  const describe = (index: number, description: string) =>
    onChange(
      options.map((option, i) => {
        if (i !== index) return option
        const { description: _, ...rest } = option
        return description ? { ...rest, description } : rest
      }),
      `description ${index}`,
    )
  return (
    <ol className="stack stack-tight">
      {options.map((option, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the id follows the title.
        <li key={index} className="editor-option" data-wide={hasDescription ? '' : undefined}>
          <Input
            aria-label={nameOf(index + 1)}
            placeholder={nameOf(index + 1)}
            maxLength={maxLength}
            value={option.title}
            onChange={({ target }) => onTitle(index, target.value)}
          />
          {hasDescription && (
            <Input
              aria-label={text.rowDescription(index + 1)}
              placeholder={text.descriptionPlaceholder}
              maxLength={72}
              value={option.description ?? ''}
              onChange={({ target }) => describe(index, target.value)}
            />
          )}
          <RowButtons name={nameOf(index + 1)} rows={options} index={index} onChange={onChange} />
        </li>
      ))}
    </ol>
  )
}
