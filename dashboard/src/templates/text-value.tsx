/**
 * One value of a template. Where it may take a field of the contact, a menu puts that where the cursor was; where it is the
 * address of a file, a file from here can be brought instead.
 */
import { useRef, useState } from 'react'
import { Button } from '../../../ui/button.tsx'
import { Field } from '../../../ui/form.tsx'
import { Menu } from '../../../ui/menu.tsx'
import { upload, uploadFault } from '../lib/upload.ts'
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
  isFile?: boolean | undefined
  onChange: (value: string) => void
}

export function TextValue({ label, value, hint, fault, withContact, isFile = false, onChange }: TextValueProps) {
  const [refused, setRefused] = useState('')
  const input = useRef<HTMLInputElement>(null)
  const insert = (reference: string) => {
    const from = input.current?.selectionStart ?? value.length
    const to = input.current?.selectionEnd ?? value.length
    onChange(value.slice(0, from) + reference + value.slice(to))
    input.current?.focus()
  }
  return (
    <Field label={label} hint={hint} fault={refused || fault}>
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
          {isFile && <FileButton onBrought={onChange} onRefused={setRefused} />}
          {withContact && !isFile && (
            <Menu
              label={text.insert(label)}
              button={
                <Button size="small" variant="quiet" icon="person" aria-label={text.insert(label)}>
                  {text.field}
                </Button>
              }
              items={fields.map(({ label, reference }) => ({ label, onSelect: () => insert(reference) }))}
            />
          )}
        </div>
      )}
    </Field>
  )
}

type FileButtonProps = { onBrought: (url: string) => void; onRefused: (fault: string) => void }

function FileButton({ onBrought, onRefused }: FileButtonProps) {
  const [isBusy, setBusy] = useState(false)
  const bring = async (file: File | undefined) => {
    if (!file) return
    setBusy(true)
    onRefused('')
    await upload(new XMLHttpRequest(), file, () => {})
      .then(({ media_url: url }) => onBrought(url))
      .catch((error: unknown) => onRefused(uploadFault(error)))
    setBusy(false)
  }
  return (
    <label className="button" data-size="small" aria-busy={isBusy}>
      <input
        type="file"
        className="offscreen"
        disabled={isBusy}
        onChange={(event) => void bring(event.target.files?.[0])}
      />
      {text.upload}
    </label>
  )
}
