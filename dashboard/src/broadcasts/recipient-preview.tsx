/** The message as one recipient gets it. The member pages through the first recipients by name. */
import { useState } from 'react'
import { IconButton } from '../../../ui/controls.tsx'
import type { DataOf } from '../lib/api.ts'
import type { TemplateParams } from '../lib/calls.ts'
import type { Template } from '../templates/parse-template.ts'
import { TemplatePreview } from '../templates/preview.tsx'
import { broadcastWords } from '../words/broadcasts.ts'

const { compose: text } = broadcastWords

type Props = {
  template: Template
  /** Shown while no recipient is known. */
  params: TemplateParams | undefined
  samples: DataOf<'POST /broadcasts/preview'>['samples']
}

export function RecipientPreview({ template, params, samples }: Props) {
  const [chosen, setChosen] = useState(0)
  const count = samples.length
  const index = Math.min(chosen, count - 1)
  // After the last one comes the first: a button that is disabled loses the focus.
  const show = (next: number) => setChosen((next + count) % count)
  const sample = samples[index]
  if (!sample) return <TemplatePreview template={template} params={params} />
  return (
    <>
      <div className="row broadcasts-person">
        {count > 1 && <IconButton label={text.previousRecipient} icon="back" onClick={() => show(index - 1)} />}
        <span className="grow column" role="status">
          <strong className="cut">{sample.name ?? sample.to}</strong>
          <span className="soft small numeric">
            {sample.name ? `${sample.to} · ` : ''}
            {text.recipientOf(index + 1, count)}
          </span>
        </span>
        {count > 1 && <IconButton label={text.nextRecipient} icon="right" onClick={() => show(index + 1)} />}
      </div>
      <TemplatePreview template={template} params={sample.params} />
    </>
  )
}
