/**
 * The steps as nested lists that read like text. A line is a button that opens its form below it. The arrow keys move over the lines,
 * other keys edit the step (`keyList` in the texts).
 */
import { Fragment, type KeyboardEvent, type ReactNode, useId } from 'react'
import { Button, IconButton } from '../../../../ui/controls.tsx'
import { Icon, type IconName } from '../../../../ui/icon.tsx'
import { Menu } from '../../../../ui/menu.tsx'
import { editorWords as text } from '../../words/automation-editor.ts'
import { type Editing, type LineId, useEditing } from './context.ts'
import { StepForm } from './forms/step.tsx'
import { ConditionsForm, TriggerForm } from './forms/trigger.tsx'
import { stepIcons } from './icons.ts'
import { answersBefore, choiceBefore } from './model/answers.ts'
import { type Step, type StepType, stepTypes } from './model/definition.ts'
import {
  describeConditions,
  describeList,
  describeStep,
  describeTrigger,
  type Line as LineText,
  toText,
} from './model/describe.ts'
import { fieldsFor } from './model/fields.ts'
import { newStep } from './model/new-step.ts'
import {
  canMove,
  duplicateStep,
  type Edit,
  idOf,
  insertStep,
  isEnd,
  listAt,
  listNested,
  moveStep,
  ownerOf,
  placeOf,
  removeStep,
  rootList,
  stepAt,
} from './model/tree.ts'

export function Outline() {
  const editing = useEditing()
  const { definition, canEdit, names } = editing
  const { trigger, conditions, steps } = definition
  const detail = conditions ? describeConditions(conditions, names, definition) : text.noConditions
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys of the lines within it.
    <div className="outline" data-own-keys="" onKeyDown={(event) => pressKey(event, editing)}>
      <section aria-label={text.trigger}>
        <Line id="trigger" icon="bolt" line={{ verb: describeTrigger(trigger), detail: '' }} form={<TriggerForm />} />
        {(conditions || canEdit) && (
          <Line
            id="conditions"
            icon="filter"
            isSoft={!conditions}
            line={conditions ? { verb: text.conditions, detail } : { verb: '', detail }}
            form={<ConditionsForm />}
          />
        )}
      </section>
      <section aria-label={text.outline}>
        {steps.length === 0 && <p className="soft outline-none">{text.none}</p>}
        <StepList list={rootList} />
      </section>
      {canEdit && <Keys />}
    </div>
  )
}

/** The steps of a list, and where one can be added. */
function StepList({ list }: { list: string }) {
  const { definition, canEdit } = useEditing()
  const steps = listAt(definition, list)
  const last = steps.at(-1)
  return (
    <>
      {steps.length > 0 && (
        <ol className="outline-list">
          {canEdit && (
            <li>
              <AddStep list={list} index={0} label={text.addFirst} />
            </li>
          )}
          {steps.map((step, index) => (
            <StepItem key={idOf(list, index)} id={idOf(list, index)} step={step} isLast={index === steps.length - 1} />
          ))}
        </ol>
      )}
      {canEdit && !(last && isEnd(last)) && <AddStep list={list} index={steps.length} />}
    </>
  )
}

function StepItem({ id, step, isLast }: { id: string; step: Step; isLast: boolean }) {
  const { definition, names, canEdit } = useEditing()
  const { list, index } = placeOf(id)
  const line = describeStep(step, names)
  const lists = listNested(step).filter(({ name, steps }) => canEdit || name !== 'otherwise' || steps.length > 0)
  return (
    <li>
      <Line
        id={id}
        icon={stepIcons[step.type]}
        line={step.type === 'branch' ? { verb: text.typeNames.branch, detail: '' } : line}
        form={<StepForm id={id} step={step} />}
        actions={canEdit && <StepMenu id={id} line={line} />}
      />
      {lists.map(({ name, steps }) => (
        <div key={name} className="outline-nested">
          <p className="outline-heading">
            <strong>{describeList(step, name)}</strong>
            {name.startsWith('cases') && <span className="soft cut">{detailOf(step, name, definition, names)}</span>}
            {steps.length === 0 && <span className="soft">{text.lists.goesOn}</span>}
          </p>
          <StepList list={`${id}.${name}`} />
        </div>
      ))}
      {canEdit && !isLast && <AddStep list={list} index={index + 1} label={text.addAfter(toText(line))} />}
    </li>
  )
}

/** The conditions of a case. */
function detailOf(step: Step, name: string, definition: Editing['definition'], names: Editing['names']): string {
  const [, index] = /^cases\[(\d+)\]/.exec(name) ?? []
  const when = step.type === 'branch' && index !== undefined ? step.cases[Number(index)]?.when : undefined
  return when ? describeConditions(when, names, definition) : ''
}

type LineProps = {
  id: LineId
  icon: IconName
  line: LineText
  isSoft?: boolean
  form: ReactNode
  actions?: ReactNode
}

function Line({ id, icon, line: { verb, detail }, isSoft = false, form, actions }: LineProps) {
  const { open, select, fault, canEdit, definition, untouched } = useEditing()
  const key = useId()
  const isOpen = open === id
  // The member has not typed in a new step yet.
  const isNew = isOpen && definition === untouched
  const message = fault?.owner === id && !isNew ? fault.message : undefined
  const close = () => select(undefined, { id, part: 'line' })
  return (
    <div className="outline-item" data-open={isOpen ? '' : undefined} data-fault={message ? '' : undefined}>
      <div className="outline-line">
        <button
          type="button"
          data-line={id}
          aria-expanded={isOpen}
          aria-controls={isOpen ? key : undefined}
          aria-describedby={message ? `${key}-fault` : undefined}
          onClick={() => (isOpen ? close() : select(id, { id, part: 'form' }))}
        >
          <Icon name={icon} />
          <span className="outline-text">
            {verb && <strong>{verb}</strong>} <span data-soft={isSoft ? '' : undefined}>{detail}</span>
          </span>
        </button>
        {actions}
      </div>
      {message && (
        <p className="outline-fault" id={`${key}-fault`}>
          <Icon name="alert" />
          {message}
        </p>
      )}
      {isOpen && (
        // biome-ignore lint/a11y/noStaticElementInteractions: Escape leaves the form.
        <div className="outline-form" id={key} data-form={id} onKeyDown={(event) => leaveForm(event, close)}>
          <fieldset className="write-access stack" disabled={!canEdit}>
            {form}
          </fieldset>
          <div className="row">
            <Button label={canEdit ? text.done : text.close} size="small" onClick={close} />
          </div>
        </div>
      )}
    </div>
  )
}

function leaveForm(event: KeyboardEvent, close: () => void): void {
  // An open list of suggestions or a menu takes the first Escape.
  if (event.key !== 'Escape' || event.defaultPrevented || event.nativeEvent.isComposing) return
  event.preventDefault()
  close()
}

/** The menu of step types. With a `label` it is a small button between lines, visible while the pointer or the focus is near. */
function AddStep({ list, index, label }: { list: string; index: number; label?: string }) {
  const editing = useEditing()
  const { clipboard } = editing
  const add = (step: Step) => insert(editing, list, index, step)
  const items = [
    ...(clipboard ? [{ label: text.paste, icon: 'copy' as const, onSelect: () => add(clipboard) }] : []),
    ...stepTypes.map((type) => ({
      label: text.typeNames[type],
      icon: stepIcons[type],
      onSelect: () => add(create(editing, type, idOf(list, index))),
    })),
  ]
  return (
    <div className={label === undefined ? 'outline-add' : 'outline-between'} data-add={idOf(list, index)}>
      <Menu
        label={text.add}
        align="start"
        button={
          label === undefined ? (
            <Button label={text.add} icon="plus" size="small" variant="quiet" />
          ) : (
            <IconButton label={label} icon="plus" />
          )
        }
        items={items}
      />
    </div>
  )
}

function create({ definition, fields }: Editing, type: StepType, id: string): Step {
  const known = fieldsFor(fields, answersBefore(definition, id), true)
  return newStep(type, definition, known, choiceBefore(definition, id))
}

/** Inserts a step and opens its form. */
function insert({ definition, change, select, setUntouched }: Editing, list: string, index: number, step: Step): void {
  const edit = insertStep(definition, list, index, step)
  change(edit.definition)
  setUntouched(edit.definition)
  if (edit.selected) select(edit.selected, { id: edit.selected, part: step.type === 'end' ? 'line' : 'form' })
}

/** Applies an edit. The focus stays on a line. */
function apply({ change, select }: Editing, { definition, selected }: Edit): void {
  change(definition)
  const line = selected ?? 'trigger'
  select(undefined, { id: line, part: 'line' })
}

function StepMenu({ id, line }: { id: string; line: LineText }) {
  const editing = useEditing()
  const { definition, select, setClipboard } = editing
  const step = stepAt(definition, id)
  const run = (edit: (definition: Editing['definition'], id: string) => Edit) => () =>
    apply(editing, edit(definition, id))
  const move = (by: 1 | -1) => () => apply(editing, moveStep(definition, id, by))
  const after = placeAfter(id)
  const below = idOf(after.list, after.index)
  return (
    <span className="outline-actions">
      <Menu
        label={text.actions(toText(line))}
        button={<IconButton icon="more" label={text.actions(toText(line))} />}
        items={[
          { label: text.edit, icon: 'edit', onSelect: () => select(id, { id, part: 'form' }) },
          { label: text.addAbove, icon: 'plus', onSelect: () => openAddAfterMenu(id) },
          ...(step && isEnd(step)
            ? []
            : [{ label: text.addBelow, icon: 'plus' as const, onSelect: () => openAddAfterMenu(below) }]),
          { label: text.duplicate, icon: 'copy', onSelect: run(duplicateStep) },
          ...(canMove(definition, id, -1) ? [{ label: text.up, icon: 'up' as const, onSelect: move(-1) }] : []),
          ...(canMove(definition, id, 1) ? [{ label: text.down, icon: 'chevron' as const, onSelect: move(1) }] : []),
          { label: text.copy, onSelect: () => step && setClipboard(step) },
          {
            label: text.cut,
            onSelect: () => {
              if (step) setClipboard(step)
              apply(editing, removeStep(definition, id))
            },
          },
          { kind: 'separator' },
          { label: text.delete, icon: 'trash', danger: true, onSelect: run(removeStep) },
        ]}
      />
    </span>
  )
}

/** The keys of a line. Those of its form and of menus are their own. */
function pressKey(event: KeyboardEvent<HTMLElement>, editing: Editing) {
  const { target, currentTarget, key, altKey, ctrlKey, metaKey } = event
  const id = target instanceof HTMLElement ? target.dataset.line : undefined
  if (id === undefined || !(target instanceof HTMLElement) || event.defaultPrevented) return
  const isStep = stepAt(editing.definition, id) !== undefined && id.startsWith(rootList)
  const act = (run: () => void) => {
    event.preventDefault()
    run()
  }
  if (key === 'ArrowDown' || key === 'ArrowUp') {
    const by = key === 'ArrowDown' ? 1 : -1
    if (!altKey) return act(() => focusNext(currentTarget, target, by))
    if (isStep && editing.canEdit) act(() => apply(editing, moveStep(editing.definition, id, by)))
    return
  }
  if (key === 'ArrowLeft' && isStep && !altKey) return act(() => focusOwner(currentTarget, id))
  if (key === 'Home' || key === 'End') return act(() => focusEnd(currentTarget, key))
  if (key === 'Escape' && editing.open === id) return act(() => editing.select(undefined))
  if (editing.canEdit && !altKey)
    editStep({ id, key, isStep, isControl: ctrlKey || metaKey, root: currentTarget, act }, editing)
}

type KeyOfStep = {
  id: string
  key: string
  isStep: boolean
  isControl: boolean
  root: HTMLElement
  act: (run: () => void) => void
}

function editStep({ id, key, isStep, isControl, root, act }: KeyOfStep, editing: Editing) {
  const { definition, clipboard, setClipboard } = editing
  const step = isStep ? stepAt(definition, id) : undefined
  if (key === 'a' && !isControl) return act(() => openAdd(root, editing, id))
  if (isControl && key === 'v' && clipboard) return act(() => paste(editing, id, clipboard))
  if (!step) return
  if (key === 'Delete' || key === 'Backspace') return act(() => apply(editing, removeStep(definition, id)))
  if (!isControl || window.getSelection()?.isCollapsed === false) return
  if (key === 'd') act(() => apply(editing, duplicateStep(definition, id)))
  if (key === 'c' || key === 'x') {
    act(() => {
      setClipboard(step)
      if (key === 'x') apply(editing, removeStep(definition, id))
    })
  }
}

/** Below the line: for a step with lists below all of them, for the trigger at the top. */
function placeAfter(id: LineId): { list: string; index: number } {
  if (!id.startsWith(rootList)) return { list: rootList, index: 0 }
  const { list, index } = placeOf(id)
  return { list, index: index + 1 }
}

function paste(editing: Editing, id: LineId, step: Step): void {
  const { list, index } = placeAfter(id)
  apply(editing, insertStep(editing.definition, list, index, step))
}

/** Opens the menu that adds a step below a line; above one that ends the list, and above the first from the trigger. */
function openAdd(root: HTMLElement, { definition }: Editing, id: LineId): void {
  const { list, index } = placeAfter(id)
  const step = stepAt(definition, id)
  const button = findAdd(root, idOf(list, index)) ?? (step && isEnd(step) ? findAdd(root, id) : undefined)
  button?.focus()
  button?.click()
}

const findAdd = (root: ParentNode, at: string) => root.querySelector<HTMLElement>(`[data-add="${at}"] button`)

/** Opens the menu that adds a step at a position, once the menu that was open has returned the focus to its button. */
function openAddAfterMenu(at: string): void {
  if (document.querySelector('[role="menu"]')) {
    requestAnimationFrame(() => openAddAfterMenu(at))
    return
  }
  const button = findAdd(document, at)
  button?.focus()
  button?.click()
}

const linesOf = (root: HTMLElement): HTMLElement[] => [...root.querySelectorAll<HTMLElement>('[data-line]')]

function focusNext(root: HTMLElement, from: HTMLElement, by: number): void {
  const lines = linesOf(root)
  lines[lines.indexOf(from) + by]?.focus()
}

function focusOwner(root: HTMLElement, id: string): void {
  const owner = ownerOf(placeOf(id).list)
  if (owner) root.querySelector<HTMLElement>(`[data-line="${owner.id}"]`)?.focus()
}

function focusEnd(root: HTMLElement, key: 'Home' | 'End'): void {
  linesOf(root)
    .at(key === 'Home' ? 0 : -1)
    ?.focus()
}

const Keys = () => (
  <details className="outline-keys small soft">
    <summary>{text.keys}</summary>
    <dl>
      {text.keyList.map(([keys, action]) => (
        <Fragment key={keys}>
          <dt>{keys}</dt>
          <dd>{action}</dd>
        </Fragment>
      ))}
    </dl>
  </details>
)
