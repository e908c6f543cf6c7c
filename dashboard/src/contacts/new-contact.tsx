/** Adds a contact by phone number. For a known number it opens the existing contact. */
import { type FormEvent, useState } from 'react'
import { useLocation } from 'wouter'
import { Button } from '../../../ui/button.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { Field, Input } from '../../../ui/form.tsx'
import { ErrorNote } from '../../../ui/note.tsx'
import { useToast } from '../../../ui/toast.tsx'
import { useChange } from '../lib/api.ts'
import { fieldErrorsOf } from '../lib/field-errors.ts'
import { words } from '../words/words.ts'
import { TagInput } from './tag-input.tsx'

const { contacts } = words
const fieldNames = ['phone', 'name', 'email', 'company', 'tags'] as const

export function NewContact({ onClose }: { onClose: () => void }) {
  const [, navigate] = useLocation()
  const toast = useToast()
  const [fields, setFields] = useState({ phone: '', name: '', email: '', company: '' })
  const [tags, setTags] = useState<string[]>([])
  const create = useChange('POST /contacts', {
    stale: ['GET /contacts', 'GET /tags'],
    onDone: ({ id, created_at: at }) => {
      toast.success(Date.now() - Date.parse(at) < 60_000 ? contacts.created : contacts.known)
      onClose()
      navigate(`/contacts/${id}`)
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    create.mutate({ body: { ...fields, tags } })
  }
  const bind = (name: keyof typeof fields) => ({
    value: fields[name],
    onChange: (event: { target: { value: string } }) => setFields({ ...fields, [name]: event.target.value }),
  })
  const errors = fieldErrorsOf(create.error, fieldNames)
  return (
    <Dialog title={contacts.addTitle} onClose={onClose}>
      <form onSubmit={submit}>
        <Field label={contacts.phone} hint={contacts.phoneHint} error={errors.phone}>
          {(wiring) => <Input {...wiring} type="tel" required autoComplete="off" {...bind('phone')} />}
        </Field>
        <Field label={contacts.name} error={errors.name}>
          {(wiring) => <Input {...wiring} autoComplete="off" maxLength={500} {...bind('name')} />}
        </Field>
        <Field label={contacts.email} error={errors.email}>
          {(wiring) => <Input {...wiring} type="email" autoComplete="off" maxLength={320} {...bind('email')} />}
        </Field>
        <Field label={contacts.company} error={errors.company}>
          {(wiring) => <Input {...wiring} autoComplete="off" maxLength={500} {...bind('company')} />}
        </Field>
        <Field label={contacts.tags} hint={contacts.tagHint} error={errors.tags}>
          {() => <TagInput names={tags} onChange={setTags} />}
        </Field>
        {errors.rest && <ErrorNote>{errors.rest}</ErrorNote>}
        <div className="dialog-foot">
          <Button onClick={onClose}>{words.common.cancel}</Button>
          <Button type="submit" variant="primary" busy={create.isPending}>
            {contacts.add}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
