/** Edits a contact. Phone number, username and channels identify the contact and cannot be changed. */
import { useState } from 'react'
import { Button, Field, Form, InputField, SubmitButton } from '../../../ui/controls.tsx'
import { ErrorNote } from '../../../ui/display.tsx'
import { type DataOf, useChange } from '../lib/api.ts'
import { fieldErrorsOf } from '../lib/field-errors.ts'
import { Facts } from '../ui/facts.tsx'
import { words } from '../words/words.ts'
import { TagInput } from './tag-input.tsx'

const { contacts } = words
const fieldNames = ['name', 'email', 'company', 'tags'] as const
type Name = (typeof fieldNames)[number]

export function ContactForm({ contact }: { contact: DataOf<'GET /contacts/{id}'> }) {
  const stored = {
    name: contact.name ?? '',
    email: contact.email ?? '',
    company: contact.company ?? '',
    tags: contact.tags.map(({ name }) => name),
  }
  /** Only the edited fields. The others follow changes by other members. */
  const [edits, setEdits] = useState<Partial<typeof stored>>({})
  const fields = { ...stored, ...edits }
  const change = useChange('PATCH /contacts/{id}', {
    stale: ['GET /contacts/{id}', 'GET /contacts', 'GET /tags', 'GET /conversations'],
    done: contacts.saved,
    // What was typed during the save is not saved yet.
    onDone: (_, { body }) =>
      setEdits((now) =>
        Object.fromEntries(Object.entries(now).filter(([name, value]) => body[name as Name] !== value)),
      ),
  })
  const submit = () => change.mutate({ params: { id: contact.id }, body: edits })
  const errors = fieldErrorsOf(change.error, fieldNames)
  const bind = (name: 'name' | 'email' | 'company') => ({
    label: contacts[name],
    error: errors[name],
    autoComplete: 'off',
    value: fields[name],
    onChange: (event: { target: { value: string } }) => setEdits((now) => ({ ...now, [name]: event.target.value })),
  })
  const isChanged = Object.keys(edits).length > 0
  return (
    <Form className="stack" onSubmit={submit}>
      <Facts
        facts={{
          [contacts.phone]: contact.phone && <bdi>{contact.phone}</bdi>,
          [contacts.username]: contact.social_username && `@${contact.social_username}`,
          [contacts.channels]:
            contact.channels.map((channel) => words.channels[channel]).join(', ') || words.common.none,
        }}
      />
      <InputField {...bind('name')} maxLength={500} />
      <InputField {...bind('email')} type="email" maxLength={320} />
      <InputField {...bind('company')} maxLength={500} />
      <Field label={contacts.tags} error={errors.tags}>
        {() => <TagInput names={fields.tags} onChange={(tags) => setEdits((now) => ({ ...now, tags }))} />}
      </Field>
      {errors.rest && <ErrorNote>{errors.rest}</ErrorNote>}
      <div className="row">
        <SubmitButton label={words.common.save} disabled={!isChanged} busy={change.isPending} />
        {isChanged && <Button label={words.common.cancel} onClick={() => setEdits({})} />}
      </div>
    </Form>
  )
}
