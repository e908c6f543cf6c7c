/** The form for a template's values, with a preview. Missing values are reported after the first attempt to send. */
import { useState } from 'react'
import { Form, SubmitButton } from '../../../../ui/controls.tsx'
import { type InputOf, useCall } from '../../lib/api.ts'
import type { TemplateParams } from '../../lib/calls.ts'
import { useDebounced } from '../../lib/hooks.ts'
import { missingValues, type Template } from '../../templates/parse-template.ts'
import { TemplatePreview } from '../../templates/preview.tsx'
import { TemplateValues } from '../../templates/values.tsx'
import { words } from '../../words/words.ts'

const { template: labels } = words.inbox

export type TemplateSend = InputOf<'POST /contacts/{id}/conversations'>['body']['template']

type Props = {
  template: Template
  /** The values at first. */
  initial: TemplateParams | undefined
  onChange: (params: TemplateParams) => void
  onSend: (template: TemplateSend, text: string) => void
}

export function TemplateForm({ template, initial = {}, onChange, onSend }: Props) {
  const { name, language, account } = template
  const [params, setParams] = useState(initial)
  const [isSubmitted, setSubmitted] = useState(false)
  const settledParams = useDebounced(params, 120)
  // The resulting text, which the thread shows until the service has stored the message.
  const preview = useCall(
    'POST /templates/preview',
    { body: { name, language, params: settledParams, ...(account ? { account } : {}) } },
    { keepPrevious: true },
  )
  const missing = missingValues(template, params)
  const errors = isSubmitted ? Object.fromEntries(missing.map((path) => [path, labels.required])) : {}
  const hasNoValues = missing.length === 0 && Object.keys(params).length === 0
  const change = (next: TemplateParams) => {
    setParams(next)
    onChange(next)
  }
  const submit = () => {
    setSubmitted(true)
    if (missing.length === 0) onSend({ name, language, params }, preview.data?.text ?? '')
  }
  return (
    <Form className="inbox-fill" noValidate onSubmit={submit}>
      <div className="stack inbox-fill-values">
        <h3>{labels.values}</h3>
        {hasNoValues && <p className="soft small">{labels.noValues}</p>}
        <TemplateValues template={template} params={params} errors={errors} onChange={change} />
      </div>
      <div className="inbox-fill-preview">
        <h3>{labels.preview}</h3>
        <TemplatePreview template={template} params={params} />
      </div>
      <div className="dialog-foot">
        <SubmitButton label={labels.send} icon="send" />
      </div>
    </Form>
  )
}
