/** The tree of steps as a picture: boxes from top to bottom, the lists within a step side by side. A box leads to its line. */
import './drawing.css'
import { Icon, type IconName } from '../../../../ui/icon.tsx'
import { editorWords as text } from '../../words/automation-editor.ts'
import { type LineId, useEditing } from './context.ts'
import { stepIcons } from './icons.ts'
import type { Step } from './model/definition.ts'
import { describeConditions, describeList, describeStep, describeTrigger } from './model/describe.ts'
import { endsRun, idOf, listAt, listNested, rootList } from './model/tree.ts'

type Select = { onSelect: (id: LineId) => void }

export function Drawing({ onSelect }: Select) {
  const { definition, names } = useEditing()
  const { trigger, conditions } = definition
  const only = conditions && `${text.conditions} ${describeConditions(conditions, names, definition)}`
  return (
    <section className="card drawing" aria-label={text.drawing.label} ref={scrollToMiddle}>
      <ol className="drawing-list">
        <li>
          <Box id="trigger" icon="bolt" verb={describeTrigger(trigger)} detail={only} onSelect={onSelect} />
        </li>
        <Steps list={rootList} goesOn={false} onSelect={onSelect} />
      </ol>
    </section>
  )
}

/** The trigger is in the middle of a drawing that is wider than its frame. */
function scrollToMiddle(frame: HTMLElement | null): void {
  if (frame) frame.scrollLeft = (frame.scrollWidth - frame.clientWidth) / 2
}

type StepsProps = Select & {
  list: string
  /** Whether another step follows the list. */
  goesOn: boolean
}

function Steps({ list, goesOn, onSelect }: StepsProps) {
  const { definition } = useEditing()
  const steps = listAt(definition, list)
  return steps.map((step, index) => (
    <DrawnStep
      key={idOf(list, index)}
      id={idOf(list, index)}
      step={step}
      goesOn={index < steps.length - 1 || goesOn}
      onSelect={onSelect}
    />
  ))
}

type DrawnStepProps = Select & { id: LineId; step: Step; goesOn: boolean }

function DrawnStep({ id, step, goesOn, onSelect }: DrawnStepProps) {
  const { names } = useEditing()
  const { verb, detail } = describeStep(step, names)
  const lists = listNested(step).map(({ name, steps }) => ({ name, steps, label: describeList(step, name) }))
  // Beside what a question or a send does without success, the way on.
  const success = step.type === 'ask' ? text.drawing.answered : text.drawing.done
  const branches =
    step.type === 'branch' || lists.length === 0 ? lists : [{ name: 'success', steps: [], label: success }, ...lists]
  return (
    <li>
      <Box id={id} icon={stepIcons[step.type]} verb={verb} detail={detail} onSelect={onSelect} />
      {branches.length > 0 && (
        <ul className="drawing-branches" data-joined={goesOn && !endsRun([step]) ? '' : undefined}>
          {branches.map(({ name, steps, label }) => (
            <li key={name} data-ended={!goesOn || endsRun(steps) ? '' : undefined}>
              <span className="drawing-label cut">{label}</span>
              {steps.length > 0 && (
                <ol className="drawing-list">
                  <Steps list={`${id}.${name}`} goesOn={goesOn} onSelect={onSelect} />
                </ol>
              )}
            </li>
          ))}
        </ul>
      )}
    </li>
  )
}

type BoxProps = Select & { id: LineId; icon: IconName; verb: string; detail?: string | undefined }

function Box({ id, icon, verb, detail, onSelect }: BoxProps) {
  const { fault } = useEditing()
  // The box of the trigger shows the conditions too.
  const owner = fault?.owner === 'conditions' ? 'trigger' : fault?.owner
  return (
    <button
      type="button"
      className="drawing-box"
      data-box={id}
      data-fault={owner === id ? '' : undefined}
      onClick={() => onSelect(id)}
    >
      <Icon name={icon} />
      <span>
        <strong>{verb}</strong> {detail}
      </span>
    </button>
  )
}
