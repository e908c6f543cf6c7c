/** What forms are made of. A field names its input, its hint and its fault for everybody, whether they see it or hear it. */
import {
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useId,
} from 'react'
import { Icon } from './icon.tsx'

type Wiring = { id: string; 'aria-describedby': string | undefined; 'aria-invalid': boolean | undefined }

type FieldProps = {
  label: string
  hint?: ReactNode
  fault?: string | null | undefined
  children: (wiring: Wiring) => ReactNode
}

/** `<Field label="Name">{(wiring) => <Input {...wiring} … />}</Field>` */
export function Field({ label, hint, fault, children }: FieldProps) {
  const id = useId()
  const about = [hint ? `${id}-hint` : '', fault ? `${id}-fault` : ''].filter(Boolean).join(' ')
  return (
    <div className="field">
      <label className="label" htmlFor={id}>
        {label}
      </label>
      {children({ id, 'aria-describedby': about || undefined, 'aria-invalid': fault ? true : undefined })}
      {hint && (
        <span className="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      {fault && (
        <span className="fault" id={`${id}-fault`} role="alert">
          {fault}
        </span>
      )}
    </div>
  )
}

export const Input = (props: InputHTMLAttributes<HTMLInputElement>) => <input {...props} className="input" />

export const TextArea = (props: TextareaHTMLAttributes<HTMLTextAreaElement>) => (
  <textarea {...props} className="input" />
)

export const Select = (props: SelectHTMLAttributes<HTMLSelectElement>) => <select {...props} className="input" />

/** `label` is not shown but heard; the placeholder is for eyes. */
export function SearchInput({ label, ...props }: InputHTMLAttributes<HTMLInputElement> & { label: string }) {
  return (
    <div className="search">
      <Icon name="search" />
      <input placeholder={label} {...props} type="search" aria-label={label} className="input" />
    </div>
  )
}

type CheckProps = Omit<InputHTMLAttributes<HTMLInputElement>, 'type'> & { label: ReactNode; hint?: ReactNode }

export function Checkbox({ label, hint, ...props }: CheckProps) {
  return (
    <label className="check">
      <input {...props} type="checkbox" />
      <span>
        {label}
        {hint && <small>{hint}</small>}
      </span>
    </label>
  )
}

export function Switch({ label, hint, ...props }: CheckProps) {
  return (
    <label className="check switch">
      <input {...props} type="checkbox" role="switch" aria-checked={props.checked} />
      <span>
        {label}
        {hint && <small>{hint}</small>}
      </span>
    </label>
  )
}

type SegmentedProps<Value extends string> = {
  label: string
  value: Value
  options: readonly { value: Value; label: ReactNode }[]
  onChange: (value: Value) => void
}

/** A few choices side by side, one of them chosen. */
export function Segmented<Value extends string>({ label, value, options, onChange }: SegmentedProps<Value>) {
  const name = useId()
  return (
    <div className="segmented" role="radiogroup" aria-label={label}>
      {options.map((option) => (
        <label key={option.value}>
          <input
            type="radio"
            name={name}
            value={option.value}
            checked={option.value === value}
            onChange={() => onChange(option.value)}
          />
          {option.label}
        </label>
      ))}
    </div>
  )
}
