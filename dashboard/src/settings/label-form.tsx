/** The dialog to add a label, or to change its name and color. The toast offers to undo a change. */
import { useId, useState } from 'react'
import { InputField } from '../../../ui/controls.tsx'
import { useToast } from '../../../ui/overlays.tsx'
import { labelQueries } from '../inbox/actions/delete-label.tsx'
import type { Label } from '../inbox/model/changes.ts'
import { useChange } from '../lib/api.ts'
import { fieldErrorsOf } from '../lib/field-errors.ts'
import { FormDialog } from '../ui/dialogs.tsx'
import { words } from '../words/words.ts'

const { labels: texts } = words.settings

const colors = Object.keys(texts.colors)

type Props = {
  /** Undefined: a new one. */
  label: Label | undefined
  others: readonly Label[]
  onClose: () => void
}

export function LabelForm({ label, others, onClose }: Props) {
  const toast = useToast()
  const [name, setName] = useState(label?.name ?? '')
  const [color, setColor] = useState(label?.color ?? colors[others.length % colors.length] ?? '')
  const [isTaken, setTaken] = useState(false)
  const undo = useChange('PATCH /labels/{id}', { stale: labelQueries, reportsError: true })
  const create = useChange('POST /labels', {
    stale: labelQueries,
    done: (created) => texts.added(created.name),
    onDone: onClose,
  })
  const update = useChange('PATCH /labels/{id}', {
    stale: labelQueries,
    onDone: ({ id, name: saved }) => {
      const before = label && { name: label.name, color: label.color }
      toast.success(texts.saved(saved), before && (() => undo.mutate({ params: { id }, body: before })))
      onClose()
    },
  })
  const errors = fieldErrorsOf(create.error ?? update.error, ['name'])
  const submit = () => {
    const body = { name: name.trim(), color }
    if (label) return update.mutate({ params: { id: label.id }, body })
    // The service would return the existing label.
    if (others.some((other) => other.name.toLowerCase() === body.name.toLowerCase())) return setTaken(true)
    create.mutate({ body })
  }
  return (
    <FormDialog
      title={label ? texts.editTitle(label.name) : texts.add}
      className="settings-form"
      action={label ? words.common.save : texts.add}
      isBusy={create.isPending || update.isPending}
      error={errors.rest}
      onSubmit={submit}
      onClose={onClose}
    >
      <InputField
        label={texts.name}
        error={isTaken ? texts.exists(name.trim()) : errors.name}
        required
        maxLength={80}
        autoComplete="off"
        dir="auto"
        value={name}
        onChange={(event) => {
          setName(event.target.value)
          setTaken(false)
        }}
      />
      <ColorPicker value={color} onChange={setColor} />
    </FormDialog>
  )
}

/** The arrow keys move between the colors. */
function ColorPicker({ value, onChange }: { value: string; onChange: (color: string) => void }) {
  const name = useId()
  const [initial] = useState(value)
  const all = colors.includes(initial) ? colors : [initial, ...colors]
  return (
    <fieldset className="settings-colors">
      <legend className="label">{texts.color}</legend>
      {all.map((color) => {
        const text = texts.colors[color] ?? texts.otherColor(color)
        return (
          <input
            key={color}
            type="radio"
            name={name}
            className="swatch"
            aria-label={text}
            title={text}
            style={{ background: color }}
            checked={color === value}
            onChange={() => onChange(color)}
          />
        )
      })}
    </fieldset>
  )
}
