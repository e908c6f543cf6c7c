/** The form of a question: message, answer, where it is saved, retries and timeout. */
import { Checkbox, InputField, SelectField } from '../../../../../ui/controls.tsx'
import { Note } from '../../../../../ui/display.tsx'
import { editorWords } from '../../../words/automation-editor.ts'
import { useEditing } from '../context.ts'
import { renameCases, renameReferences } from '../model/answers.ts'
import {
  type AskStep,
  answerPrefix,
  answerTypes,
  attributePrefix,
  type Message,
  optionsOf,
  readSaveAs,
} from '../model/definition.ts'
import { changeStep } from '../model/tree.ts'
import { DurationInput, FieldsText, NameInput } from './inputs.tsx'
import { MessageForm } from './message.tsx'
import { type FormProps, OnError } from './on-error.tsx'

const { forms: text } = editorWords

const isTappable = (message: Message): boolean => message.type === 'interactive' && message.interactive.kind !== 'link'

export function AskForm({ id, step, onChange }: FormProps<AskStep>) {
  const { definition, change } = useEditing()
  const { answer } = step
  const changeMessage = (message: Message, field?: string) => {
    // Buttons are there to be tapped, and nothing can be tapped without them.
    const isNew = isTappable(message) !== isTappable(step.message)
    const type: AskStep['answer']['type'] = isTappable(message) ? 'choice' : 'text'
    const fits = !isNew || (type === 'text' && answer.type !== 'choice')
    const next = { ...step, message, ...(fits ? {} : { answer: { type } }) }
    const changed = changeStep(definition, id, () => next)
    const { name } = readSaveAs(step.save_as)
    change(renameCases(changed, name, optionsOf(step.message), optionsOf(message)), field && `${id} ${field}`)
  }
  return (
    <>
      <MessageForm stepId={id} label={text.question} message={step.message} onChange={changeMessage} />
      <AnswerFields id={id} step={step} onChange={onChange} />
      <SaveAs id={id} step={step} onChange={onChange} />
      <Retries id={id} step={step} onChange={onChange} />
      <Timeout id={id} step={step} onChange={onChange} />
      <OnError step={step} onChange={onChange} />
    </>
  )
}

function AnswerFields({ step, onChange }: FormProps<AskStep>) {
  const { answer } = step
  const setLimit = (name: 'min' | 'max', typed: string) => {
    const { [name]: _, ...rest } = answer
    onChange({ ...step, answer: typed === '' ? rest : { ...answer, [name]: Number(typed) } }, name)
  }
  return (
    <>
      <SelectField
        label={text.answerType}
        value={answer.type}
        options={answerTypes.map((type) => [type, text.answerTypes[type]])}
        onChange={({ target }) => {
          const type = answerTypes.find((each) => each === target.value)
          if (type) onChange({ ...step, answer: { type } })
        }}
      />
      {answer.type === 'choice' && optionsOf(step.message).length === 0 && <Note>{text.choiceNeeds}</Note>}
      {answer.type === 'number' && (
        <div className="editor-pair">
          {(['min', 'max'] as const).map((name) => (
            <InputField
              key={name}
              label={text[name]}
              hint={text.optional}
              type="number"
              step="any"
              value={answer[name] ?? ''}
              onChange={({ target }) => setLimit(name, target.value)}
            />
          ))}
        </div>
      )}
    </>
  )
}

function SaveAs({ id, step, onChange }: FormProps<AskStep>) {
  const { definition, change } = useEditing()
  const { name, isAttribute } = readSaveAs(step.save_as)
  const prefix = isAttribute ? attributePrefix : answerPrefix
  const rename = (next: string) => {
    const renamed = changeStep(definition, id, () => ({ ...step, save_as: prefix + next }))
    change(renameReferences(renamed, name, next))
  }
  return (
    <div className="editor-pair">
      <SelectField
        label={text.saveIn}
        value={isAttribute ? 'attribute' : 'answer'}
        options={Object.entries(text.saveKinds)}
        onChange={({ target }) =>
          onChange({ ...step, save_as: (target.value === 'attribute' ? attributePrefix : answerPrefix) + name })
        }
      />
      <NameInput label={isAttribute ? text.attributeName : text.answerName} value={name} onChange={rename} />
    </div>
  )
}

function Retries({ id, step, onChange }: FormProps<AskStep>) {
  const { retries, ...rest } = step
  return (
    <>
      <Checkbox
        label={text.retries}
        checked={retries !== undefined}
        onChange={({ target }) =>
          onChange(target.checked ? { ...step, retries: { max: 2, text: text.retriesDefault } } : rest)
        }
      />
      {retries && (
        <div className="stack editor-indent">
          <FieldsText
            stepId={id}
            label={text.retriesText}
            rows={2}
            value={retries.text}
            onChange={(value) => onChange({ ...step, retries: { ...retries, text: value } }, 'retries')}
          />
          <SelectField
            label={text.retriesMax}
            value={retries.max}
            options={Array.from({ length: 10 }, (_, i) => [String(i + 1), String(i + 1)] as const)}
            onChange={({ target }) => onChange({ ...step, retries: { ...retries, max: Number(target.value) } })}
          />
        </div>
      )}
    </>
  )
}

function Timeout({ step, onChange }: FormProps<AskStep>) {
  const { timeout, ...rest } = step
  return (
    <>
      <Checkbox
        label={text.timeout}
        hint={timeout ? text.nested : text.timeoutHint}
        checked={timeout !== undefined}
        onChange={({ target }) => onChange(target.checked ? { ...step, timeout: { after: '1h', steps: [] } } : rest)}
      />
      {timeout && (
        <div className="editor-indent">
          <DurationInput
            label={text.timeoutAfter}
            value={timeout.after}
            onChange={(after) => onChange({ ...step, timeout: { ...timeout, after } }, 'timeout')}
          />
        </div>
      )}
    </>
  )
}
