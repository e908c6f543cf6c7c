/**
 * The form of an endpoint: where to, and what of. Used for new ones, for
 * changes, and for connecting an automation tool. The service checks the
 * address; what it refuses is said beside the field.
 */
import { type FormEvent, useId, useState } from 'react'
import { faultOf } from '../lib/faults.ts'
import { Button } from '../ui/button.tsx'
import { Checkbox, Field, Input } from '../ui/form.tsx'
import { words } from '../words/words.ts'
import { type EventName, eventNames } from './endpoint.tsx'

const { form, events: explained } = words.webhooks

export type EndpointFields = { url: string; events: EventName[] }

type FormProps = {
  initial?: EndpointFields
  urlLabel?: string
  action: string
  busy: boolean
  /** What the service refused with. */
  error: unknown
  onSubmit: (fields: EndpointFields) => void
  onClose: () => void
}

export function EndpointForm({ initial, urlLabel = form.url, action, busy, error, onSubmit, onClose }: FormProps) {
  const [url, setUrl] = useState(initial?.url ?? '')
  const [events, setEvents] = useState<ReadonlySet<EventName>>(new Set(initial?.events ?? eventNames))
  const [isTried, setTried] = useState(false)
  const toggle = (event: EventName) => {
    const next = new Set(events)
    if (!next.delete(event)) next.add(event)
    setEvents(next)
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setTried(true)
    if (events.size > 0) onSubmit({ url: url.trim(), events: eventNames.filter((name) => events.has(name)) })
  }
  return (
    <form onSubmit={submit}>
      <Field label={urlLabel} hint={form.urlHint} fault={faultOf(error, 'url')}>
        {(wiring) => (
          <Input
            {...wiring}
            type="url"
            inputMode="url"
            autoComplete="off"
            spellCheck={false}
            required
            maxLength={2_000}
            placeholder={form.urlPlaceholder}
            value={url}
            onChange={(event) => setUrl(event.target.value)}
          />
        )}
      </Field>
      <EventChoice events={events} onToggle={toggle} fault={isTried && events.size === 0 ? form.noEvents : undefined} />
      <div className="dialog-foot">
        <Button onClick={onClose} disabled={busy}>
          {words.common.cancel}
        </Button>
        <Button type="submit" variant="primary" busy={busy}>
          {action}
        </Button>
      </div>
    </form>
  )
}

type ChoiceProps = { events: ReadonlySet<EventName>; onToggle: (event: EventName) => void; fault: string | undefined }

function EventChoice({ events, onToggle, fault }: ChoiceProps) {
  const id = useId()
  return (
    <fieldset className="hooks-choice" aria-describedby={fault ? id : undefined}>
      <legend>{form.events}</legend>
      {eventNames.map((event) => (
        <Checkbox
          key={event}
          checked={events.has(event)}
          onChange={() => onToggle(event)}
          label={
            <>
              {explained[event].label} <code>{event}</code>
            </>
          }
          hint={explained[event].hint}
        />
      ))}
      {fault && (
        <span className="fault" id={id} role="alert">
          {fault}
        </span>
      )}
    </fieldset>
  )
}
