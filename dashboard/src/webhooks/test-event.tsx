/** Sends a sample of a chosen event to one endpoint, and shows its result. */
import { useState } from 'react'
import { SelectField } from '../../../ui/controls.tsx'
import { useChange } from '../lib/api.ts'
import { fieldErrorOf } from '../lib/field-errors.ts'
import { FormDialog } from '../ui/dialogs.tsx'
import { webhookWords } from '../words/webhooks.ts'
import { words } from '../words/words.ts'
import { type Endpoint, eventNames } from './endpoint.tsx'
import { TestResult } from './test-result.tsx'

const { test: labels, events: explained } = webhookWords

export function TestDialog({ endpoint, onClose }: { endpoint: Endpoint; onClose: () => void }) {
  const [event, setEvent] = useState(eventNames.find((name) => endpoint.events.includes(name)) ?? eventNames[0])
  const send = useChange('POST /webhooks/{id}/test', { stale: ['GET /webhooks/{id}/deliveries'] })
  const choose = (wanted: string) => setEvent(eventNames.find((name) => name === wanted) ?? event)
  return (
    <FormDialog
      isDraft={false}
      title={labels.title}
      action={send.data ? labels.another : labels.action}
      cancel={send.data ? labels.done : words.common.cancel}
      icon="bolt"
      isBusy={send.isPending}
      onSubmit={() => send.mutate({ params: { id: endpoint.id }, body: { event } })}
      onClose={onClose}
    >
      <p className="soft">{labels.text}</p>
      <SelectField
        label={labels.event}
        hint={endpoint.events.includes(event) ? explained[event].hint : labels.unsubscribed}
        error={fieldErrorOf(send.error, 'event')}
        value={event}
        options={eventNames.map((name) => [name, `${explained[name].label} (${name})`])}
        onChange={({ target }) => choose(target.value)}
      />
      {send.data && <TestResult key={send.data.id} id={send.data.id} endpointId={endpoint.id} onView={onClose} />}
    </FormDialog>
  )
}
