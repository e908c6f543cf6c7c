/** Edits a contact inside the contact panel. An error of the service is shown at the field it names. */
import { type FormEvent, useState } from 'react'
import { Button } from '../../../../ui/button.tsx'
import { Field, Input } from '../../../../ui/form.tsx'
import { ErrorNote } from '../../../../ui/note.tsx'
import { useToast } from '../../../../ui/toast.tsx'
import { useChange } from '../../lib/api.ts'
import { fieldErrorsOf } from '../../lib/field-errors.ts'
import { words } from '../../words/words.ts'
import { type Contact, contactQueries } from '../model/data.ts'

const { contact: labels } = words.inbox
const names = ['name', 'email', 'company'] as const

export function ContactForm({ contact, onDone }: { contact: Contact; onDone: () => void }) {
  const toast = useToast()
  const [fields, setFields] = useState({
    name: contact.name ?? '',
    email: contact.email ?? '',
    company: contact.company ?? '',
  })
  const change = useChange('PATCH /contacts/{id}', {
    stale: contactQueries,
    onDone: () => {
      toast.success(labels.saved)
      onDone()
    },
  })
  const errors = fieldErrorsOf(change.error, names)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    change.mutate({ params: { id: contact.id }, body: fields })
  }
  return (
    <form className="inbox-contact-form" onSubmit={submit} noValidate>
      {names.map((name, index) => (
        <Field key={name} label={labels[name]} error={errors[name]}>
          {(wiring) => (
            <Input
              {...wiring}
              type={name === 'email' ? 'email' : 'text'}
              autoComplete="off"
              autoFocus={index === 0}
              value={fields[name]}
              onChange={(event) => setFields({ ...fields, [name]: event.target.value })}
            />
          )}
        </Field>
      ))}
      {errors.rest && <ErrorNote>{errors.rest}</ErrorNote>}
      <div className="row">
        <Button type="submit" size="small" variant="primary" busy={change.isPending}>
          {labels.save}
        </Button>
        <Button size="small" onClick={onDone}>
          {words.common.cancel}
        </Button>
      </div>
    </form>
  )
}
