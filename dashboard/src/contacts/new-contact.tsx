/** Adds a contact by phone number. For a known number it opens the existing contact. */
import { useState } from 'react'
import { useLocation } from 'wouter'
import { Field, InputField } from '../../../ui/controls.tsx'
import { useChange } from '../lib/api.ts'
import { useFormFields } from '../lib/field-errors.ts'
import { FormDialog } from '../ui/dialogs.tsx'
import { words } from '../words/words.ts'
import { TagInput } from './tag-input.tsx'

const { contacts } = words

export function NewContact({ onClose }: { onClose: () => void }) {
  const [, navigate] = useLocation()
  const [tags, setTags] = useState<string[]>([])
  const create = useChange('POST /contacts', {
    stale: ['GET /contacts', 'GET /tags'],
    done: ({ created_at: at }) => (Date.now() - Date.parse(at) < 60_000 ? contacts.created : contacts.known),
    onDone: ({ id }) => {
      onClose()
      navigate(`/contacts/${id}`)
    },
  })
  const form = useFormFields({ phone: '', name: '', email: '', company: '' }, create.error, ['tags'])
  const { values, errors } = form
  const bind = (name: keyof typeof values) => ({ label: contacts[name], autoComplete: 'off', ...form.bind(name) })
  return (
    <FormDialog
      title={contacts.addTitle}
      action={contacts.add}
      isBusy={create.isPending}
      error={errors.rest}
      onSubmit={() => create.mutate({ body: { ...values, tags } })}
      onClose={onClose}
    >
      <InputField {...bind('phone')} hint={contacts.phoneHint} type="tel" required />
      <InputField {...bind('name')} maxLength={500} />
      <InputField {...bind('email')} type="email" maxLength={320} />
      <InputField {...bind('company')} maxLength={500} />
      <Field label={contacts.tags} hint={contacts.tagHint} error={errors.tags}>
        {() => <TagInput names={tags} onChange={setTags} />}
      </Field>
    </FormDialog>
  )
}
