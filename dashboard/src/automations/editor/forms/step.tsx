/** The form of a step. A form changes the fields that it knows and keeps all others. */
import { Checkbox, InputField, SelectField } from '../../../../../ui/controls.tsx'
import { editorWords } from '../../../words/automation-editor.ts'
import { useEditing } from '../context.ts'
import { newAnswerName, renameReferences } from '../model/answers.ts'
import {
  answerPrefix,
  type CallStep,
  type HandOverStep,
  type NoteStep,
  readSaveAs,
  type SendStep,
  type Step,
  type WaitStep,
} from '../model/definition.ts'
import { changeStep } from '../model/tree.ts'
import { AskForm } from './ask.tsx'
import { BranchForm } from './branch.tsx'
import { DurationInput, FieldsText, MemberSelect, NameInput, TeamSelect } from './inputs.tsx'
import { MessageForm } from './message.tsx'
import { type FormProps, OnError } from './on-error.tsx'
import { SetForm } from './set.tsx'

const { forms: text } = editorWords

export function StepForm({ id, step }: { id: string; step: Step }) {
  const { changeStep: change } = useEditing()
  const onChange = (next: Step, field?: string) => change(id, next, field)
  switch (step.type) {
    case 'send':
      return <SendForm id={id} step={step} onChange={onChange} />
    case 'ask':
      return <AskForm id={id} step={step} onChange={onChange} />
    case 'branch':
      return <BranchForm id={id} step={step} onChange={onChange} />
    case 'wait':
      return <WaitForm id={id} step={step} onChange={onChange} />
    case 'set':
      return <SetForm id={id} step={step} onChange={onChange} />
    case 'note':
      return <NoteForm id={id} step={step} onChange={onChange} />
    case 'call':
      return <CallForm id={id} step={step} onChange={onChange} />
    case 'hand_over':
      return <HandOverForm id={id} step={step} onChange={onChange} />
    case 'end':
      return <p className="soft">{text.endText}</p>
  }
}

function SendForm({ id, step, onChange }: FormProps<SendStep>) {
  return (
    <>
      <MessageForm
        stepId={id}
        label={text.text}
        message={step.message}
        onChange={(message, field) => onChange({ ...step, message }, field)}
      />
      <OnError step={step} onChange={onChange} />
    </>
  )
}

function WaitForm({ step, onChange }: FormProps<WaitStep>) {
  const { for: span = '1h', until, ...rest } = step
  return (
    <>
      <SelectField
        label={text.wait}
        value={until === undefined ? 'time' : 'opening'}
        options={Object.entries(text.waits)}
        hint={until === undefined ? undefined : text.openingHint}
        onChange={({ target }) =>
          onChange({ ...rest, ...(target.value === 'time' ? { for: span } : { until: 'opening' }) })
        }
      />
      {until === undefined && (
        <DurationInput label={text.waitFor} value={span} onChange={(next) => onChange({ ...rest, for: next }, 'for')} />
      )}
    </>
  )
}

const NoteForm = ({ id, step, onChange }: FormProps<NoteStep>) => (
  <FieldsText
    stepId={id}
    label={text.note}
    hint={text.noteHint}
    rows={3}
    maxLength={5_000}
    value={step.text}
    onChange={(note) => onChange({ ...step, text: note }, 'text')}
  />
)

function CallForm({ id, step, onChange }: FormProps<CallStep>) {
  const { definition, change } = useEditing()
  const { save_as: saveAs, ...rest } = step
  const name = saveAs === undefined ? undefined : readSaveAs(saveAs).name
  const rename = (next: string) => {
    const renamed = changeStep(definition, id, () => ({ ...step, save_as: answerPrefix + next }))
    change(renameReferences(renamed, name ?? '', next))
  }
  return (
    <>
      <InputField
        label={text.callUrl}
        hint={text.callHint(name ?? 'response')}
        type="url"
        placeholder={text.urlPlaceholder}
        maxLength={2_000}
        value={step.url}
        onChange={({ target }) => onChange({ ...step, url: target.value }, 'url')}
      />
      <Checkbox
        label={text.callSave}
        checked={name !== undefined}
        onChange={({ target }) =>
          onChange(target.checked ? { ...step, save_as: answerPrefix + newAnswerName(definition, 'response') } : rest)
        }
      />
      {name !== undefined && <NameInput label={text.answerName} value={name} onChange={rename} />}
      <OnError step={step} onChange={onChange} />
    </>
  )
}

function HandOverForm({ id, step, onChange }: FormProps<HandOverStep>) {
  const { assigned_agent_id: member = '', assigned_team_id: team = '', note = '' } = step
  return (
    <>
      <MemberSelect
        label={text.handOverTo}
        value={member}
        first={[['', text.unchanged]]}
        onChange={(next) => {
          const { assigned_agent_id: _, ...rest } = step
          onChange(next ? { ...step, assigned_agent_id: next } : rest)
        }}
      />
      <TeamSelect
        label={text.team}
        value={team}
        first={[['', text.unchanged]]}
        onChange={(next) => {
          const { assigned_team_id: _, ...rest } = step
          onChange(next ? { ...step, assigned_team_id: next } : rest)
        }}
      />
      <FieldsText
        stepId={id}
        label={text.handOverNote}
        hint={text.handOverNoteHint}
        rows={2}
        maxLength={5_000}
        value={note}
        onChange={(next) => {
          const { note: _, ...rest } = step
          onChange(next ? { ...step, note: next } : rest, 'note')
        }}
      />
    </>
  )
}
