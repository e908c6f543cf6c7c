/**
 * Assigns a validation error to a field of the form. The service's messages have the form `field: rule`. An error of no field on the
 * form is `rest`, so that every error is shown.
 */
import { useEffect, useState } from 'react'
import { CallError, describeError } from './api.ts'

export type FieldErrors<Field extends string> = { [Name in Field | 'rest']?: string }

const fieldMessage = /^([a-z_]+)(?:[[.][^:]*)?: ([\s\S]+)$/

export function fieldErrorsOf<Field extends string>(error: unknown, fields: readonly Field[]): FieldErrors<Field> {
  if (!error) return {}
  const [, name, rule] = (error instanceof CallError && fieldMessage.exec(error.message)) || []
  const field = fields.find((each) => each === name)
  const errors: FieldErrors<Field> = {}
  if (field && rule) errors[field] = toSentence(rule)
  else errors.rest = describeError(error)
  return errors
}

/** Begins with a capital letter, unless the first word is a value, such as the name of a host. */
const toSentence = (rule: string): string =>
  /^[a-z'-]+( |$)/.test(rule) ? rule.charAt(0).toUpperCase() + rule.slice(1) : rule

/** Focuses the first field of the form that a failed call refused. */
export function useFocusOnError(error: unknown): void {
  useEffect(() => {
    if (!error) return
    const form = [...document.querySelectorAll('dialog[open]')].at(-1) ?? document
    form.querySelector<HTMLElement>('.field [aria-invalid="true"]')?.focus()
  }, [error])
}

/** The error for a form that shows it in one place, without the field's name if it is one of `fields`. */
export const fieldErrorOf = (error: unknown, ...fields: string[]): string | undefined =>
  Object.values(fieldErrorsOf(error, fields))[0]

/** The text fields of a form, by their names in the call, and its error. `others`: fields that are not texts. */
export function useFormFields<Name extends string, Other extends string = never>(
  initial: Record<Name, string>,
  error: unknown,
  others: readonly Other[] = [],
) {
  const [values, setValues] = useState(initial)
  const errors = fieldErrorsOf(error, [...(Object.keys(initial) as Name[]), ...others])
  useFocusOnError(error)
  return {
    values,
    setValues,
    errors,
    /** Connects a field with its input. `rest`: it also shows an error of no field. */
    bind: (name: Name, shows?: 'rest') => ({
      value: values[name],
      error: errors[name] ?? (shows && errors.rest),
      onChange: ({ target }: { target: { value: string } }) => setValues((now) => ({ ...now, [name]: target.value })),
    }),
  }
}
