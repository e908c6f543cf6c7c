/**
 * The input of one template value. A menu inserts contact fields and attributes at the cursor, and the hint explains them; for a media URL
 * a file can be uploaded.
 */
import { useRef, useState } from 'react'
import { Button, Field, Input } from '../../../ui/controls.tsx'
import { Menu } from '../../../ui/menu.tsx'
import { useCall } from '../lib/api.ts'
import { upload, uploadError } from '../lib/upload.ts'
import { words } from '../words/words.ts'
import { useHasBrokenImage } from './image-check.ts'

const { values: text } = words.templates

const fields = [
  { label: text.fields.name, reference: '{{contact.name|there}}' },
  { label: text.fields.phone, reference: '{{contact.phone}}' },
  { label: text.fields.email, reference: '{{contact.email}}' },
  { label: text.fields.company, reference: '{{contact.company}}' },
]

/** A contact field in a value. */
const isReference = /\{\{\s*contact\./

const toField = (attribute: string) => ({ label: attribute, reference: `{{contact.attributes.${attribute}}}` })

type ValueInputProps = {
  label: string
  value: string
  hint?: string | undefined
  error: string | undefined
  withContact: boolean
  isFile?: boolean | undefined
  /** A file that is an image. */
  isImage?: boolean | undefined
  onChange: (value: string) => void
}

export function ValueInput(props: ValueInputProps) {
  const { label, value, hint, error, withContact, isFile = false, isImage = false, onChange } = props
  const [uploadErrorText, setUploadError] = useState('')
  const input = useRef<HTMLInputElement>(null)
  const hasFields = withContact && !isFile
  const known = useCall('GET /broadcasts/fields', {}, { enabled: hasFields }).data?.attributes ?? []
  // The answer may be that of another input.
  const attributes = hasFields ? known.map(toField) : []
  const isBroken = useHasBrokenImage(isImage ? [value] : [])
  const insert = (reference: string) => {
    const from = input.current?.selectionStart ?? value.length
    const to = input.current?.selectionEnd ?? value.length
    onChange(value.slice(0, from) + reference + value.slice(to))
    input.current?.focus()
  }
  return (
    <Field
      label={label}
      hint={
        isBroken ? (
          <span className="values-warning" role="status">
            {text.imageBroken}
          </span>
        ) : hasFields && isReference.test(value) ? (
          text.replaced
        ) : (
          hint
        )
      }
      error={uploadErrorText || error}
    >
      {(wiring) => (
        <div className="line values-line">
          <Input
            {...wiring}
            ref={input}
            maxLength={2000}
            autoComplete="off"
            value={value}
            onChange={(event) => onChange(event.target.value)}
          />
          {isFile && <FileButton onUploaded={onChange} onError={setUploadError} />}
          {hasFields && (
            <Menu
              label={text.insert(label)}
              button={
                <Button label={text.field} size="small" variant="quiet" icon="person" aria-label={text.insert(label)} />
              }
              items={[...fields, ...attributes].map(({ label, reference }) => ({
                label,
                onSelect: () => insert(reference),
              }))}
            />
          )}
        </div>
      )}
    </Field>
  )
}

type FileButtonProps = { onUploaded: (url: string) => void; onError: (error: string) => void }

function FileButton({ onUploaded, onError }: FileButtonProps) {
  const [isBusy, setBusy] = useState(false)
  const uploadFile = async (file: File | undefined) => {
    if (!file) return
    setBusy(true)
    onError('')
    await upload(new XMLHttpRequest(), file, () => {})
      .then(({ media_url: url }) => onUploaded(url))
      .catch((error: unknown) => onError(uploadError(error)))
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
