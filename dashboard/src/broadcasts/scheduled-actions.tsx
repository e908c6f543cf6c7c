/** The actions of a scheduled broadcast: edit it, change its time, send it now. */
import { useState } from 'react'
import { Button, InputField } from '../../../ui/controls.tsx'
import { Confirm } from '../../../ui/overlays.tsx'
import { describeError, useChange } from '../lib/api.ts'
import { toDatetimeLocal } from '../lib/datetime-local.ts'
import { ConfirmButton } from '../ui/dialogs.tsx'
import { LinkButton } from '../ui/link-button.tsx'
import { words } from '../words/words.ts'
import type { Broadcast } from './status.tsx'

const { detail: text, compose } = words.broadcasts

const stale = ['GET /broadcasts', 'GET /broadcasts/{id}', 'GET /broadcasts/{id}/recipients'] as const
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone

export function ScheduledActions({ broadcast }: { broadcast: Broadcast }) {
  return (
    <>
      <LinkButton label={text.edit} href={`/broadcasts/${broadcast.id}/edit`} icon="edit" />
      <Reschedule broadcast={broadcast} />
      <StartNow broadcast={broadcast} />
    </>
  )
}

function Reschedule({ broadcast: { id, scheduled_at: before } }: { broadcast: Broadcast }) {
  const [at, setAt] = useState<string>()
  const [isPast, setPast] = useState(false)
  const close = () => {
    setAt(undefined)
    change.reset()
  }
  const change = useChange('PATCH /broadcasts/{id}', { stale, done: text.rescheduleDone, onDone: () => close() })
  const save = () => {
    const ms = new Date(at ?? '').getTime()
    const isUsable = ms > Date.now()
    setPast(!isUsable)
    if (isUsable) change.mutate({ params: { id }, body: { scheduled_at: new Date(ms).toISOString() } })
  }
  return (
    <>
      <Button
        label={text.reschedule}
        icon="clock"
        onClick={() => setAt(toDatetimeLocal(before ? Date.parse(before) : Date.now()))}
      />
      {at !== undefined && (
        <Confirm
          title={text.rescheduleTitle}
          action={text.reschedule}
          busy={change.isPending}
          error={change.error ? describeError(change.error) : undefined}
          onConfirm={save}
          onClose={close}
        >
          <InputField
            label={compose.at}
            hint={compose.zone(zone)}
            error={isPast ? text.pastTime : undefined}
            type="datetime-local"
            min={toDatetimeLocal(Date.now())}
            value={at}
            onChange={(event) => setAt(event.target.value)}
          />
        </Confirm>
      )}
    </>
  )
}

export const StartNow = ({ broadcast: { id, template } }: { broadcast: Broadcast }) => (
  <ConfirmButton
    button={<Button label={text.startNow} icon="send" />}
    title={text.startTitle}
    action={text.startNow}
    call="POST /broadcasts/{id}/start"
    input={{ params: { id } }}
    stale={stale}
    done={text.startDone}
  >
    <p>{text.startText(template.name)}</p>
  </ConfirmButton>
)
