/** The form of a branch: the cases with their names and rules. Their steps are lines of the outline. */
import { Button, InputField } from '../../../../../ui/controls.tsx'
import { FilterRules } from '../../../segments/builder.tsx'
import { editorWords } from '../../../words/automation-editor.ts'
import { useEditing } from '../context.ts'
import { answersBefore, choiceBefore } from '../model/answers.ts'
import type { BranchStep, Case } from '../model/definition.ts'
import { fieldsFor } from '../model/fields.ts'
import { casesOf, newCase } from '../model/new-step.ts'
import type { FormProps } from './on-error.tsx'
import { RowButtons } from './row-buttons.tsx'

const { forms: text } = editorWords

const maxCases = 20

export function BranchForm({ id, step, onChange }: FormProps<BranchStep>) {
  const { definition, fields } = useEditing()
  const known = fieldsFor(fields, answersBefore(definition, id), true)
  const choice = choiceBefore(definition, id)
  const missing = choice ? casesOf(choice, step.cases) : []
  const { cases } = step
  const change = (index: number, next: Case, field?: string) =>
    onChange({ ...step, cases: cases.map((each, i) => (i === index ? next : each)) }, field)
  const add = (added: readonly Case[]) => onChange({ ...step, cases: [...cases, ...added].slice(0, maxCases) })
  return (
    <>
      <p className="soft small">{text.branchHint}</p>
      {cases.map((each, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a case has no identity but its position.
        <fieldset key={index} className="stack editor-section">
          <legend className="label">{text.caseLegend(index + 1)}</legend>
          <div className="line editor-case">
            <InputField
              label={text.caseName}
              hint={text.optional}
              maxLength={100}
              value={each.name ?? ''}
              onChange={({ target }) => {
                const { name: _, ...rest } = each
                change(index, target.value ? { ...each, name: target.value } : rest, `name ${index}`)
              }}
            />
            {cases.length > 1 && (
              <RowButtons
                name={text.caseLegend(index + 1)}
                rows={cases}
                index={index}
                onChange={(next) => onChange({ ...step, cases: next })}
              />
            )}
          </div>
          <FilterRules
            label={text.caseMatch}
            fields={known}
            filter={each.when}
            onChange={(when) => change(index, { ...each, when }, `when ${index}`)}
          />
        </fieldset>
      ))}
      <div className="row">
        <Button
          label={text.addCase}
          icon="plus"
          size="small"
          disabled={cases.length >= maxCases}
          onClick={() => add([newCase(known)])}
        />
        {choice && missing.length > 0 && (
          <Button label={text.oneCasePerOption(choice.name)} icon="branch" size="small" onClick={() => add(missing)} />
        )}
      </div>
    </>
  )
}
