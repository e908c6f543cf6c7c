/**
 * The credentials of a connection, each with a hint where to find it. Stored secrets are never shown; an empty field keeps the
 * stored value. The provider URL, API version and verify token have defaults and are collapsed.
 */
import { type RefObject, useState } from 'react'
import { Button, Field, Form, Input, InputField } from '../../../ui/controls.tsx'
import { ErrorNote } from '../../../ui/display.tsx'
import type { InputOf } from '../lib/api.ts'
import type { Connection } from '../lib/connections.ts'
import { LeaveGuard } from '../ui/leave-guard.tsx'
import { PasswordInput } from '../ui/password-input.tsx'
import { settingsWords } from '../words/settings.ts'
import type { ProviderChannel } from './connection.ts'
import { isDifferent } from './save-row.tsx'

const { channels } = settingsWords
const { guide } = channels

export const fieldNames = [
  'account_id',
  'phone_number_id',
  'access_token',
  'app_secret',
  'verify_token',
  'base_url',
  'api_version',
] as const
export type FieldName = (typeof fieldNames)[number]

type Values = Record<FieldName | 'name', string>
export type Settings = InputOf<'PUT /channels/{channel}'>['body']

const secretFields: readonly FieldName[] = ['access_token', 'app_secret']
const requiredFields: Record<ProviderChannel, readonly FieldName[]> = {
  msgapp: ['account_id', 'phone_number_id', 'access_token', 'app_secret'],
  social: ['account_id', 'access_token', 'app_secret'],
}
const advancedFields: readonly FieldName[] = ['base_url', 'api_version', 'verify_token']

type FieldsProps = {
  channel: ProviderChannel
  /** The stored connection, if there is one. */
  stored: Connection | undefined
  /** It is connected besides others, and needs a name. */
  isAnother: boolean
  errors: Partial<Record<FieldName | 'name' | 'rest', string>>
  busy: boolean
  form: RefObject<HTMLFormElement | null>
  /** Label of the submit button. */
  action: string
  onSave: (settings: Settings) => void
}

export function ChannelFields({ channel, stored, isAnother, errors, busy, form, action, onSave }: FieldsProps) {
  const [values, setValues] = useState<Values>(() => valuesOf(stored))
  const isChanged = isDifferent(values, valuesOf(stored))
  const hasError = advancedFields.some((name) => errors[name])
  const submit = () => onSave(Object.fromEntries(Object.entries(values).filter(([, value]) => value.trim() !== '')))
  const renderField = (name: FieldName) => {
    const isSecret = secretFields.includes(name)
    const isStoredSecret = isSecret && stored !== undefined
    const labels = channels.fields[name]
    const props = {
      name,
      required: requiredFields[channel].includes(name) && !isStoredSecret,
      autoComplete: 'off',
      spellCheck: false,
      placeholder: isStoredSecret ? guide.kept : labels.placeholder,
      value: values[name],
      onChange: (event: { target: { value: string } }) => setValues({ ...values, [name]: event.target.value }),
    }
    return (
      <Field key={name} label={labels.label} hint={labels.hints[channel]} error={errors[name]}>
        {(wiring) =>
          isSecret ? (
            <PasswordInput {...wiring} {...props} autoComplete="new-password" />
          ) : (
            <Input {...wiring} {...props} inputMode={name.endsWith('_id') ? 'numeric' : undefined} />
          )
        }
      </Field>
    )
  }
  return (
    <Form className="stack settings-form" ref={form} onSubmit={submit}>
      {isAnother && !stored && (
        <InputField
          label={channels.name}
          hint={channels.nameHint}
          error={errors.name}
          name="name"
          required
          maxLength={60}
          autoComplete="off"
          value={values.name}
          onChange={(event) => setValues({ ...values, name: event.target.value })}
        />
      )}
      {requiredFields[channel].map(renderField)}
      <details className="settings-advanced" open={hasError || undefined}>
        <summary>{guide.advanced}</summary>
        <div className="stack">{advancedFields.map(renderField)}</div>
      </details>
      {errors.rest && <ErrorNote>{errors.rest}</ErrorNote>}
      <div className="row">
        <Button
          label={action}
          type="submit"
          variant="primary"
          busy={busy}
          disabled={stored !== undefined && !isChanged}
        />
        <LeaveGuard isChanged={isChanged && !busy} />
      </div>
    </Form>
  )
}

/** The stored ids and URLs. Secrets and generated values start empty. */
const valuesOf = (stored: Connection | undefined): Values => ({
  account_id: stored?.account_id ?? '',
  phone_number_id: stored?.phone_number_id ?? '',
  access_token: '',
  app_secret: '',
  verify_token: '',
  base_url: stored?.base_url ?? '',
  api_version: stored?.api_version ?? '',
  // A stored connection is renamed on its card.
  name: '',
})
