/**
 * The input of one template value. A menu inserts contact fields and attributes at the cursor, and chips below insert the name and the
 * attributes that most contacts have; for a media URL a file can be uploaded.
 */
import { useRef, useState } from 'react'
import { Button, Field, Input } from '../../../ui/controls.tsx'
import { Menu } from '../../../ui/menu.tsx'
import { useCall } from '../lib/api.ts'
import { upload, uploadError } from '../lib/upload.ts'
import { words } from '../words/words.ts'
import { useHasBrokenImage } from './image-check.ts'

const { values: text } = words.templates

const nameReference = '{{contact.name|there}}'
/** The chip is short; the menu has the text for contacts without a name. */
const nameField = { label: text.nameChip, reference: nameReference }

const fields = [
  { label: text.fields.name, reference: nameReference },
  { label: text.fields.phone, reference: '{{contact.phone}}' },
  { label: text.fields.email, reference: '{{contact.email}}' },
  { label: text.fields.company, reference: '{{contact.company}}' },
]

/** So many have a chip at each value: every chip is a stop of the Tab key. */
const maxChips = 6

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
          {hasFields && (
            <ul className="row values-chips" aria-label={text.chips(label)}>
              {[nameField, ...attributes].slice(0, maxChips).map(({ label, reference }) => (
                <li key={label}>
                  <button type="button" className="tag" onClick={() => insert(reference)}>
                    <span className="cut">{label}</span>
                  </button>
                </li>
              ))}
            </ul>
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
