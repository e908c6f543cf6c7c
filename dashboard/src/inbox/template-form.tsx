/** The values of a template beside how it will look. What is missing is said at its field once somebody wants to send. */
import { type FormEvent, useState } from 'react'
import { Button } from '../../../ui/button.tsx'
import { type InputOf, useCall } from '../lib/api.ts'
import type { TemplateParams } from '../lib/calls.ts'
import { useStill } from '../lib/use.ts'
import { TemplatePreview } from '../templates/preview.tsx'
import { missingValues, type Template } from '../templates/shape.ts'
import { TemplateValues } from '../templates/values.tsx'
import { words } from '../words/words.ts'

const { template: says } = words.inbox

export type TemplateSend = InputOf<'POST /templates/preview'>['body']

type Props = { template: Template; onSend: (template: TemplateSend, text: string) => void }

export function TemplateForm({ template, onSend }: Props) {
  const { name, language } = template
  const [params, setParams] = useState<TemplateParams>({})
  const [isTried, setTried] = useState(false)
  const still = useStill(params, 120)
  // How it reads, for the thread until the service has it.
  const preview = useCall('POST /templates/preview', { body: { name, language, params: still } }, { keep: true })
  const missing = missingValues(template, params)
  const faults = isTried ? Object.fromEntries(missing.map((path) => [path, says.required])) : {}
  const needsNothing = missing.length === 0 && Object.keys(params).length === 0
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setTried(true)
    if (missing.length === 0) onSend({ name, language, params }, preview.data?.text ?? '')
  }
  return (
    <form className="inbox-fill" noValidate onSubmit={submit}>
      <div className="inbox-fill-values">
        <h3>{says.values}</h3>
        {needsNothing && <p className="soft small">{says.noValues}</p>}
        <TemplateValues template={template} params={params} faults={faults} onChange={setParams} />
      </div>
      <div className="inbox-fill-preview">
        <h3>{says.preview}</h3>
        <TemplatePreview template={template} params={params} />
      </div>
      <div className="dialog-foot">
        <Button type="submit" variant="primary" icon="send">
          {says.send}
        </Button>
      </div>
    </form>
  )
}
