/** The input of one template value. A menu inserts contact fields at the cursor; for a media URL a file can be uploaded. */
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

type ValueInputProps = {
  label: string
  value: string
  hint?: string | undefined
  fault: string | undefined
  withContact: boolean
  isFile?: boolean | undefined
  onChange: (value: string) => void
}

export function ValueInput({ label, value, hint, fault, withContact, isFile = false, onChange }: ValueInputProps) {
  const [uploadFaultText, setUploadFault] = useState('')
  const input = useRef<HTMLInputElement>(null)
  const insert = (reference: string) => {
    const from = input.current?.selectionStart ?? value.length
    const to = input.current?.selectionEnd ?? value.length
    onChange(value.slice(0, from) + reference + value.slice(to))
    input.current?.focus()
  }
  return (
    <Field label={label} hint={hint} fault={uploadFaultText || fault}>
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
          {isFile && <FileButton onUploaded={onChange} onFault={setUploadFault} />}
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

type FileButtonProps = { onUploaded: (url: string) => void; onFault: (fault: string) => void }

function FileButton({ onUploaded, onFault }: FileButtonProps) {
  const [isBusy, setBusy] = useState(false)
  const uploadFile = async (file: File | undefined) => {
    if (!file) return
    setBusy(true)
    onFault('')
    await upload(new XMLHttpRequest(), file, () => {})
      .then(({ media_url: url }) => onUploaded(url))
      .catch((error: unknown) => onFault(uploadFault(error)))
    setBusy(false)
  }
  return (
    <label className="button" data-size="small" aria-busy={isBusy}>
      <input
        type="file"
        className="offscreen"
        disabled={isBusy}
        onChange={(event) => void uploadFile(event.target.files?.[0])}
      />
      {text.upload}
    </label>
  )
}
