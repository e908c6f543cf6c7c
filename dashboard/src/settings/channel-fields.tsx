/**
 * What a connection needs, each with where to find it. Secrets are never shown
 * again: once stored, an empty field keeps what there is. Addresses and
 * versions have their usual value and are out of sight.
 */
import { type FormEvent, type RefObject, useState } from 'react'
import { Button } from '../../../ui/button.tsx'
import { Field, Input } from '../../../ui/form.tsx'
import { Note } from '../../../ui/note.tsx'
import type { InputOf } from '../lib/api.ts'
import { PasswordInput } from '../ui/password-input.tsx'
import { words } from '../words/words.ts'
import type { Connection, ProvidedChannel } from './channels.tsx'

const { channels } = words.settings
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

type Values = Record<FieldName, string>
export type Settings = InputOf<'PUT /channels/{channel}'>['body']

const secrets: readonly FieldName[] = ['access_token', 'app_secret']
const usual: Record<ProvidedChannel, readonly FieldName[]> = {
  msgapp: ['account_id', 'phone_number_id', 'access_token', 'app_secret'],
  social: ['account_id', 'access_token', 'app_secret'],
}
const advanced: readonly FieldName[] = ['base_url', 'api_version', 'verify_token']

type FieldsProps = {
  channel: ProvidedChannel
  /** What is stored and may be kept. */
  stored: Connection | undefined
  faults: Partial<Record<FieldName | 'rest', string>>
  busy: boolean
  form: RefObject<HTMLFormElement | null>
  /** What the button says. */
  action: string
  onSave: (settings: Settings) => void
}

export function ChannelFields({ channel, stored, faults, busy, form, action, onSave }: FieldsProps) {
  const [values, setValues] = useState<Values>(() => valuesOf(stored))
  const hasFault = advanced.some((name) => faults[name])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onSave(Object.fromEntries(Object.entries(values).filter(([, value]) => value.trim() !== '')))
  }
  const show = (name: FieldName) => {
    const isSecret = secrets.includes(name)
    const isKept = isSecret && stored !== undefined
    const about = channels.fields[name]
    const props = {
      name,
      required: usual[channel].includes(name) && !isKept,
      autoComplete: 'off',
      spellCheck: false,
      placeholder: isKept ? guide.kept : about.placeholder,
      value: values[name],
      onChange: (event: { target: { value: string } }) => setValues({ ...values, [name]: event.target.value }),
    }
    return (
      <Field key={name} label={about.label} hint={about.hints[channel]} fault={faults[name]}>
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
    <form className="settings-form" ref={form} onSubmit={submit}>
      {usual[channel].map(show)}
      <details className="settings-advanced" open={hasFault || undefined}>
        <summary>{guide.advanced}</summary>
        <div className="stack">{advanced.map(show)}</div>
      </details>
      {faults.rest && (
        <Note tone="red" icon="alert">
          {faults.rest}
        </Note>
      )}
      <div className="row">
        <Button type="submit" variant="primary" busy={busy}>
          {action}
        </Button>
      </div>
    </form>
  )
}

/** Ids as they are stored; secrets, and what the service fills in, empty. */
const valuesOf = (stored: Connection | undefined): Values => ({
  account_id: stored?.account_id ?? '',
  phone_number_id: stored?.phone_number_id ?? '',
  access_token: '',
  app_secret: '',
  verify_token: '',
  base_url: stored?.base_url ?? '',
  api_version: stored?.api_version ?? '',
})
