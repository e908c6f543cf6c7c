/** Edits a contact inside the contact panel. An error of the service is shown at the field it names. */
import { Button, Form, InputField } from '../../../../ui/controls.tsx'
import { ErrorNote } from '../../../../ui/display.tsx'
import { useChange } from '../../lib/api.ts'
import { useFormFields } from '../../lib/field-errors.ts'
import { words } from '../../words/words.ts'
import { type Contact, contactQueries } from '../model/data.ts'

const { contact: labels } = words.inbox
const names = ['name', 'email', 'company'] as const

export function ContactForm({ contact, onDone }: { contact: Contact; onDone: () => void }) {
  const change = useChange('PATCH /contacts/{id}', { stale: contactQueries, done: labels.saved, onDone })
  const initial = { name: contact.name ?? '', email: contact.email ?? '', company: contact.company ?? '' }
  const { values, errors, bind } = useFormFields(initial, change.error)
  const submit = () => change.mutate({ params: { id: contact.id }, body: values })
  return (
    <Form className="inbox-contact-form" onSubmit={submit} noValidate>
      {names.map((name, index) => (
        <InputField
          key={name}
          label={labels[name]}
          type={name === 'email' ? 'email' : 'text'}
          autoComplete="off"
          autoFocus={index === 0}
          {...bind(name)}
        />
      ))}
      {errors.rest && <ErrorNote>{errors.rest}</ErrorNote>}
      <div className="row">
        <Button label={labels.save} type="submit" size="small" variant="primary" busy={change.isPending} />
        <Button label={words.common.cancel} size="small" onClick={onDone} />
      </div>
    </Form>
  )
}
