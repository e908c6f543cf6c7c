/** What the forms of steps share: their props, and whether a step has steps for a failure. */
import { Checkbox } from '../../../../../ui/controls.tsx'
import { editorWords } from '../../../words/automation-editor.ts'
import type { Step } from '../model/definition.ts'

const { forms: text } = editorWords

/** `field`: of a text that the member types. */
export type FormProps<Kind extends Step> = {
  id: string
  step: Kind
  onChange: (step: Kind, field?: string) => void
}

type Failing = { on_error?: Step[] }

/** Whether there are steps for a failure. They are lines of the outline. */
export function OnError<Kind extends Failing>({ step, onChange }: { step: Kind; onChange: (step: Kind) => void }) {
  const change = (isOn: boolean) => {
    const next: Kind = { ...step }
    if (isOn) next.on_error = []
    else Reflect.deleteProperty(next, 'on_error')
    onChange(next)
  }
  return (
    <Checkbox
      label={text.onError}
      hint={step.on_error ? text.nested : text.onErrorHint}
      checked={step.on_error !== undefined}
      onChange={({ target }) => change(target.checked)}
    />
  )
}
