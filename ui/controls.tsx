/** Buttons and form controls. `Field` connects an input with its label, hint and error for screen readers too. */
import { type ChangeEvent, type ComponentProps, type ReactNode, useId, useRef, useState } from 'react'
import { Icon, type IconName } from './icon.tsx'
import { useKitWords } from './words.tsx'

export type ButtonStyle = {
  variant?: 'primary' | 'danger' | 'quiet' | undefined
  size?: 'small' | 'medium' | undefined
  icon?: IconName | undefined
}

/** `busy` shows a spinner and disables the button, so that an action is not started twice. */
type ButtonProps = ButtonStyle & Omit<ComponentProps<'button'>, 'children'> & { label?: ReactNode; busy?: boolean }

export function Button(props: ButtonProps) {
  const { label, variant, size, icon, busy = false, disabled, type = 'button', ...rest } = props
  return (
    <button
      {...rest}
      type={type}
      className="button"
      data-variant={variant}
      data-size={size}
      disabled={disabled || busy}
      aria-busy={busy || undefined}
    >
      {busy ? <span className="spinner" aria-hidden="true" /> : icon && <Icon name={icon} />}
      {label}
    </button>
  )
}

type IconButtonProps = Omit<ButtonProps, 'label'> & { label: string; icon: IconName }

/** A button that shows only an icon. `label` is its accessible name and its tooltip. */
export const IconButton = ({ label, variant = 'quiet', size = 'small', ...rest }: IconButtonProps) => (
  <Button {...rest} variant={variant} size={size} data-icon-only="" aria-label={label} title={label} />
)

export const SubmitButton = (props: ButtonProps) => <Button variant="primary" {...props} type="submit" />

type FormProps = Omit<ComponentProps<'form'>, 'onSubmit'> & { onSubmit: () => void }

/** Its fields show what is wrong with them, instead of the browser. `noValidate`: only the service checks them. */
export const Form = ({ onSubmit, noValidate = false, ...props }: FormProps) => (
  <form
    {...props}
    noValidate
    onSubmit={(event) => {
      event.preventDefault()
      // A dialog in a form is a part of it for React, and only its own form is submitted.
      event.stopPropagation()
      if (noValidate || areFieldsValid(event.currentTarget)) onSubmit()
    }}
  />
)

/** Reports the invalid inputs to their `Field` and focuses the first. */
function areFieldsValid(form: HTMLFormElement): boolean {
  const invalid = form.querySelectorAll<HTMLInputElement>('.field input:invalid')
  for (const input of invalid) input.checkValidity()
  invalid[0]?.focus()
  return invalid.length === 0
}

/** The value of a field and how to change it. */
type Bound = { value?: string; onChange?: (event: { target: { value: string } }) => void }

/** The attributes that connect an input with its `Field`. */
type Wiring = Bound & { id: string; 'aria-describedby': string | undefined; 'aria-invalid': boolean | undefined }

type FieldText = { label: string; hint?: ReactNode; error?: string | null | undefined }

type FieldProps = Bound & FieldText & { children: (wiring: Wiring) => ReactNode }

/** `<Field label="Name">{(wiring) => <Input {...wiring} … />}</Field>`. A value and `onChange` also reach the input. An error replaces the hint. */
export function Field({ label, hint, error: givenError, children, ...bound }: FieldProps) {
  const id = useId()
  const { required } = useKitWords()
  const [invalid, setInvalid] = useState('')
  const error = invalid || givenError
  const description = error ? `${id}-error` : hint ? `${id}-hint` : undefined
  return (
    <div
      className="field"
      onInvalidCapture={({ target }) =>
        target instanceof HTMLInputElement &&
        setInvalid((target.validity.valueMissing && required) || target.validationMessage)
      }
      onInput={() => setInvalid('')}
    >
      <label className="label" htmlFor={id}>
        {label}
      </label>
      {children({
        ...bound,
        id,
        'aria-describedby': description,
        'aria-invalid': error ? true : undefined,
      })}
      {hint && !error && (
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

/** The class of an input beside the one that a caller gives. */
const inputClass = (given = ''): string => `input ${given}`.trim()

export const Input = ({ className, ...props }: ComponentProps<'input'>) => (
  <input {...props} className={inputClass(className)} />
)

export const InputField = ({ label, hint, error, ...input }: FieldText & ComponentProps<'input'>) => (
  <Field label={label} hint={hint} error={error}>
    {(wiring) => <Input {...wiring} {...input} />}
  </Field>
)

export const TextArea = ({ className, ...props }: ComponentProps<'textarea'>) => (
  <textarea {...props} className={inputClass(className)} />
)

export const TextAreaField = ({ label, hint, error, ...area }: FieldText & ComponentProps<'textarea'>) => (
  <Field label={label} hint={hint} error={error}>
    {(wiring) => <TextArea {...wiring} {...area} />}
  </Field>
)

type SelectProps = ComponentProps<'select'> & { options?: readonly (readonly [value: string, label: string])[] }

/** `options` follow the children. */
export const Select = ({ options = [], children, className, ...props }: SelectProps) => (
  <select {...props} className={inputClass(className)}>
    {children}
    {options.map(([value, label]) => (
      <option key={value} value={value}>
        {label}
      </option>
    ))}
  </select>
)

export const SelectField = ({ label, hint, error, ...select }: FieldText & SelectProps) => (
  <Field label={label} hint={hint} error={error}>
    {(wiring) => <Select {...wiring} {...select} />}
  </Field>
)

/** `label` is the accessible name and, unless `placeholder` is set, the placeholder. */
export const SearchInput = ({ label, ...props }: ComponentProps<'input'> & { label: string }) => (
  <div className="search">
    <Icon name="search" />
    <input placeholder={label} {...props} type="search" aria-label={label} className="input" />
  </div>
)

type FilePickerProps = Omit<ComponentProps<'input'>, 'type' | 'ref' | 'hidden'> & {
  label: string
  button: (open: () => void) => ReactNode
  onFiles: (files: File[]) => void
}

/** A button that opens the file dialog of the browser. The same file can be chosen again. */
export function FilePicker({ label, button, onFiles, ...rest }: FilePickerProps) {
  const input = useRef<HTMLInputElement>(null)
  const choose = ({ target }: ChangeEvent<HTMLInputElement>) => {
    onFiles([...(target.files ?? [])])
    target.value = ''
  }
  return (
    <>
      {button(() => input.current?.click())}
      <input ref={input} type="file" hidden aria-label={label} onChange={choose} {...rest} />
    </>
  )
}

type CheckProps = Omit<ComponentProps<'input'>, 'type'> & { label: ReactNode; hint?: ReactNode }

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
  options: readonly { value: Value; icon?: IconName; label: string }[]
  onChange: (value: Value) => void
}

/** A segmented control: a few options side by side, exactly one selected. */
export function SegmentedControl<Value extends string>(props: SegmentedControlProps<Value>) {
  const { label, value, options, onChange } = props
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
          {option.icon && <Icon name={option.icon} />}
          {option.label}
        </label>
      ))}
    </div>
  )
}
