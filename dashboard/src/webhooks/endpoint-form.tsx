/**
 * The dialog of an endpoint: URL and events. Used to add and edit endpoints and to connect automation tools. For a private
 * address, which the service rejects, it explains the alternatives.
 */
import { type ReactNode, useId, useState } from 'react'
import { Checkbox, InputField } from '../../../ui/controls.tsx'
import { Note } from '../../../ui/display.tsx'
import { fieldErrorOf, useFocusOnError } from '../lib/field-errors.ts'
import { FormDialog } from '../ui/dialogs.tsx'
import { ListenCommand } from '../ui/listen-command.tsx'
import { webhookWords } from '../words/webhooks.ts'
import { type EventName, eventNames } from './endpoint.tsx'

const { form, events: explained } = webhookWords

type EndpointFields = { url: string; events: EventName[] }

type DialogProps = {
  title: string
  lead?: ReactNode
  initial?: EndpointFields
  urlLabel?: string
  action: string
  isBusy: boolean
  /** The error of the service. */
  error: unknown
  onSubmit: (fields: EndpointFields) => void
  onClose: () => void
}

export function EndpointDialog({ lead, initial, urlLabel = form.url, error, onSubmit, ...dialog }: DialogProps) {
  const [url, setUrl] = useState(initial?.url ?? '')
  const [events, setEvents] = useState<ReadonlySet<EventName>>(new Set(initial?.events ?? eventNames))
  const [isTried, setTried] = useState(false)
  const toggle = (event: EventName) => {
    const next = new Set(events)
    if (!next.delete(event)) next.add(event)
    setEvents(next)
  }
  const submit = () => {
    setTried(true)
    if (events.size > 0) onSubmit({ url: url.trim(), events: eventNames.filter((name) => events.has(name)) })
  }
  const urlError = fieldErrorOf(error, 'url')
  useFocusOnError(error)
  return (
    // Closing the dialog during the request would lose the secret of a new endpoint.
    <FormDialog {...dialog} isHeld onSubmit={submit}>
      {lead}
      <InputField
        label={urlLabel}
        hint={form.urlHint}
        error={urlError}
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
      {urlError && isPrivateAddress.test(urlError) && <PrivateAddressHelp />}
      <EventChoice events={events} onToggle={toggle} error={isTried && events.size === 0 ? form.noEvents : undefined} />
    </FormDialog>
  )
}

/** The service's error for a private address. */
const isPrivateAddress = /not a public address$/

function PrivateAddressHelp() {
  const { allow, allowSetting } = form.privateAddress
  return (
    <Note>
      <ListenCommand />
      <p>
        {allow} <code>{allowSetting}</code>.
      </p>
    </Note>
  )
}

type ChoiceProps = { events: ReadonlySet<EventName>; onToggle: (event: EventName) => void; error: string | undefined }

function EventChoice({ events, onToggle, error }: ChoiceProps) {
  const id = useId()
  return (
    <fieldset className="stack hooks-choice" aria-describedby={error ? id : undefined}>
      <legend className="legend">{form.events}</legend>
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
      {error && (
        <span className="error" id={id} role="alert">
          {error}
        </span>
      )}
    </fieldset>
  )
}
