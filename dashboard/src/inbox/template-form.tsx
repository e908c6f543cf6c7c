/** The values of a template beside how it will look. What is missing is said at its field once somebody wants to send. */
import { type FormEvent, useState } from 'react'
import { useCall } from '../lib/api.ts'
import { useStill } from '../lib/use.ts'
import { Button } from '../ui/button.tsx'
import { Field, Input } from '../ui/form.tsx'
import { Asked } from '../ui/page.tsx'
import { words } from '../words/words.ts'
import { TemplateView } from './sent-template.tsx'
import { type TemplateSend, toFields, toParams, type ValueField, type Values } from './template-values.ts'
import { faultOf, upload } from './upload.ts'

const { template: says } = words.inbox

type Props = { name: string; language: string; onSend: (template: TemplateSend, text: string) => void }

export function TemplateForm({ name, language, onSend }: Props) {
  const [values, setValues] = useState<Values>({})
  const [isTried, setTried] = useState(false)
  const still = useStill(values, 120)
  const bare = useCall('POST /templates/preview', { body: { name, language, params: {} } })
  const preview = useCall(
    'POST /templates/preview',
    { body: { name, language, params: toParams(still) } },
    { keep: true },
  )
  const submit = (event: FormEvent, fields: readonly ValueField[]) => {
    event.preventDefault()
    setTried(true)
    if (fields.some(({ name, isRequired }) => isRequired && !values[name]?.trim())) return
    onSend({ name, language, params: toParams(values) }, preview.data?.text ?? '')
  }
  return (
    <Asked query={bare}>
      {({ missing }) => {
        const fields = toFields(missing)
        return (
          <form className="inbox-fill" noValidate onSubmit={(event) => submit(event, fields)}>
            <div className="inbox-fill-values">
              <h3>{says.values}</h3>
              {fields.length === 0 && <p className="soft small">{says.noValues}</p>}
              {fields.map((field) => (
                <ValueInput
                  key={field.name}
                  field={field}
                  value={values[field.name] ?? ''}
                  fault={isTried && field.isRequired && !values[field.name]?.trim() ? says.required : undefined}
                  onChange={(value) => setValues((all) => ({ ...all, [field.name]: value }))}
                />
              ))}
            </div>
            <div className="inbox-fill-preview">
              <h3>{says.preview}</h3>
              <div className="inbox-fill-paper" aria-live="polite">
                <Asked query={preview}>
                  {({ header, header_media: media, text, footer, buttons, cards }) => (
                    <div className="inbox-bubble">
                      <TemplateView
                        {...{ header, media, text, footer, buttons }}
                        cards={cards.map(({ header_media, ...card }) => ({ ...card, media: header_media }))}
                      />
                    </div>
                  )}
                </Asked>
              </div>
            </div>
            <div className="dialog-foot">
              <Button type="submit" variant="primary" icon="send">
                {says.send}
              </Button>
            </div>
          </form>
        )
      }}
    </Asked>
  )
}

type ValueProps = { field: ValueField; value: string; fault: string | undefined; onChange: (value: string) => void }

function ValueInput({ field: { label, isMedia }, value, fault, onChange }: ValueProps) {
  const [isBusy, setBusy] = useState(false)
  const [refused, setRefused] = useState('')
  const bring = async (file: File | undefined) => {
    if (!file) return
    setBusy(true)
    setRefused('')
    await upload(new XMLHttpRequest(), file, () => {})
      .then(({ media_url }) => onChange(media_url))
      .catch((error: unknown) => setRefused(faultOf(error)))
    setBusy(false)
  }
  return (
    <Field label={label} hint={isMedia ? says.headerMediaHint : undefined} fault={refused || fault}>
      {(wiring) => (
        <div className="inbox-value">
          <Input
            {...wiring}
            type={isMedia ? 'url' : 'text'}
            autoComplete="off"
            maxLength={isMedia ? 2_000 : 1_024}
            value={value}
            onChange={(event) => onChange(event.target.value)}
          />
          {isMedia && (
            <label className="button" data-size="small" aria-busy={isBusy}>
              <input
                type="file"
                className="offscreen"
                disabled={isBusy}
                onChange={(event) => void bring(event.target.files?.[0])}
              />
              {says.upload}
            </label>
          )}
        </div>
      )}
    </Field>
  )
}
