/** Form controls. `Field` connects an input with its label, hint and error for screen readers too. */
import { type ComponentProps, type InputHTMLAttributes, type ReactNode, type SelectHTMLAttributes, useId } from 'react'
import { Icon } from './icon.tsx'

type FormProps = Omit<ComponentProps<'form'>, 'onSubmit'> & { onSubmit: () => void }

export const Form = ({ onSubmit, ...props }: FormProps) => (
  <form
    {...props}
    onSubmit={(event) => {
      event.preventDefault()
      onSubmit()
    }}
  />
)

/** The value of a field and how to change it. */
type Bound = { value?: string; onChange?: (event: { target: { value: string } }) => void }

/** The attributes that connect an input with its `Field`. */
type Wiring = Bound & { id: string; 'aria-describedby': string | undefined; 'aria-invalid': boolean | undefined }

type FieldProps = Bound & {
  label: string
  hint?: ReactNode
  error?: string | null | undefined
  children: (wiring: Wiring) => ReactNode
}

/** `<Field label="Name">{(wiring) => <Input {...wiring} … />}</Field>`. A value and `onChange` also reach the input. */
export function Field({ label, hint, error, children, ...bound }: FieldProps) {
  const id = useId()
  const descriptions = [hint ? `${id}-hint` : '', error ? `${id}-error` : ''].filter(Boolean).join(' ')
  return (
    <div className="field">
      <label className="label" htmlFor={id}>
        {label}
      </label>
      {children({
        ...bound,
        id,
        'aria-describedby': descriptions || undefined,
        'aria-invalid': error ? true : undefined,
      })}
      {hint && (
        <span className="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      {error && (
        <span className="error" id={`${id}-error`} role="alert">
          {error}
        </span>
      )}
    </div>
  )
}

export const Input = (props: InputHTMLAttributes<HTMLInputElement>) => <input {...props} className="input" />

type InputFieldProps = Pick<FieldProps, 'label' | 'hint' | 'error'> & InputHTMLAttributes<HTMLInputElement>

export const InputField = ({ label, hint, error, ...input }: InputFieldProps) => (
  <Field label={label} hint={hint} error={error}>
    {(wiring) => <Input {...wiring} {...input} />}
  </Field>
)

export const TextArea = (props: ComponentProps<'textarea'>) => <textarea {...props} className="input" />

export const Select = (props: SelectHTMLAttributes<HTMLSelectElement>) => <select {...props} className="input" />

/** `label` is the accessible name and, unless `placeholder` is set, the placeholder. */
export function SearchInput({ label, ...props }: InputHTMLAttributes<HTMLInputElement> & { label: string }) {
  return (
    <div className="search">
      <Icon name="search" />
      <input placeholder={label} {...props} type="search" aria-label={label} className="input" />
    </div>
  )
}

type CheckProps = Omit<InputHTMLAttributes<HTMLInputElement>, 'type'> & { label: ReactNode; hint?: ReactNode }

export const Checkbox = ({ label, hint, ...props }: CheckProps) => (
  <label className="check">
    <input {...props} type="checkbox" />
    <CheckText label={label} hint={hint} />
  </label>
)

export const Switch = ({ label, hint, ...props }: CheckProps) => (
  <label className="check switch">
    <input {...props} type="checkbox" role="switch" aria-checked={props.checked} />
    <CheckText label={label} hint={hint} />
  </label>
)

const CheckText = ({ label, hint }: Pick<CheckProps, 'label' | 'hint'>) => (
  <span>
    {label}
    {hint && <small>{hint}</small>}
  </span>
)

type SegmentedControlProps<Value extends string> = {
  label: string
  value: Value
  options: readonly { value: Value; label: ReactNode }[]
  onChange: (value: Value) => void
}

/** A segmented control: a few options side by side, exactly one selected. */
export function SegmentedControl<Value extends string>({
  label,
  value,
  options,
  onChange,
}: SegmentedControlProps<Value>) {
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
