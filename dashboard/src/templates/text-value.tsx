/** One value of a template. Where it may take a field of the contact, a menu puts that where the cursor was. */
import { useRef } from 'react'
import { Button } from '../ui/button.tsx'
import { Field } from '../ui/form.tsx'
import { Menu } from '../ui/menu.tsx'
import { words } from '../words/words.ts'

const { values: text } = words.templates

const fields = [
  { label: text.fields.name, reference: '{{contact.name|there}}' },
  { label: text.fields.phone, reference: '{{contact.phone}}' },
  { label: text.fields.email, reference: '{{contact.email}}' },
  { label: text.fields.company, reference: '{{contact.company}}' },
]

type TextValueProps = {
  label: string
  value: string
  hint?: string | undefined
  fault: string | undefined
  withContact: boolean
  onChange: (value: string) => void
}

export function TextValue({ label, value, hint, fault, withContact, onChange }: TextValueProps) {
  const input = useRef<HTMLInputElement>(null)
  const insert = (reference: string) => {
    const from = input.current?.selectionStart ?? value.length
    const to = input.current?.selectionEnd ?? value.length
    onChange(value.slice(0, from) + reference + value.slice(to))
    input.current?.focus()
  }
  return (
    <Field label={label} hint={hint} fault={fault}>
      {(wiring) => (
        <div className="values-line">
          <input
            {...wiring}
            ref={input}
            className="input"
            maxLength={2000}
            autoComplete="off"
            value={value}
            onChange={(event) => onChange(event.target.value)}
          />
          {withContact && (
            <Menu
              label={text.insert(label)}
              button={(props) => (
                <Button {...props} size="small" variant="quiet" icon="person" aria-label={text.insert(label)}>
                  {text.field}
                </Button>
              )}
              items={fields.map(({ label, reference }) => ({ label, onSelect: () => insert(reference) }))}
            />
          )}
        </div>
      )}
    </Field>
  )
}
