/** The actions of a broadcast in its state: edit, reschedule, start, pause, resume, cancel, delete, copy, resend. */
import { useState } from 'react'
import { useLocation } from 'wouter'
import { Button, InputField } from '../../../ui/controls.tsx'
import { ErrorNote } from '../../../ui/display.tsx'
import { Confirm, Dialog } from '../../../ui/overlays.tsx'
import { describeError, useChange } from '../lib/api.ts'
import { toDatetimeLocal } from '../lib/time.ts'
import { CallButton, ConfirmButton } from '../ui/dialogs.tsx'
import { LinkButton } from '../ui/link-button.tsx'
import { words } from '../words/words.ts'
import type { Broadcast } from './status.tsx'

const { detail: text, compose } = words.broadcasts

const stale = ['GET /broadcasts', 'GET /broadcasts/{id}', 'GET /broadcasts/{id}/recipients'] as const

export function Actions({ broadcast }: { broadcast: Broadcast }) {
  const { status, is_paused, channel_error, total_count, pending_count, awaiting_count, segment_id } = broadcast
  const copy = <LinkButton label={text.copy} href={`/broadcasts/${broadcast.id}/copy`} icon="copy" />
  if (status === 'sent' || status === 'canceled') {
    return (
      <>
        {copy}
        <Resend broadcast={broadcast} />
      </>
    )
  }
  // During an outage of the provider a member can retry at once or pause the broadcast.
  const isWaiting = channel_error !== null
  const isDraft = status === 'draft'
  const target = { input: { params: { id: broadcast.id } }, stale }
  const hasMore = status === 'scheduled' || total_count === 0 || pending_count > awaiting_count
  return (
    <>
      {status === 'scheduled' && <ScheduledActions broadcast={broadcast} />}
      {isDraft && (total_count > 0 || segment_id !== null) && <StartNow broadcast={broadcast} />}
      {is_paused && (
        <CallButton
          {...target}
          label={isWaiting ? text.tryNow : text.resume}
          variant="primary"
          icon="play"
          call="POST /broadcasts/{id}/resume"
          done={isWaiting ? text.tryDone : text.resumeDone}
        />
      )}
      {hasMore && !isDraft && (!is_paused || isWaiting) && (
        <CallButton
          {...target}
          label={text.pause}
          icon="pause"
          call="POST /broadcasts/{id}/pause"
          done={text.pauseDone}
        />
      )}
      {isDraft ? <DeleteButton broadcast={broadcast} /> : <CancelButton broadcast={broadcast} />}
      {!isDraft && copy}
    </>
  )
}

function CancelButton({ broadcast }: { broadcast: Broadcast }) {
  const { id, status, pending_count, sent_count } = broadcast
  const [isConfirming, setConfirming] = useState(false)
  const close = () => setConfirming(false)
  const cancel = useChange('POST /broadcasts/{id}/cancel', { stale, done: text.cancelDone, onDone: close })
  return (
    <>
      <Button label={text.cancel} icon="stop" onClick={() => setConfirming(true)} />
      {isConfirming && (
        <Dialog title={text.cancelTitle} onClose={close}>
          <p>{status === 'scheduled' ? text.cancelScheduled : text.cancelSending(sent_count, pending_count)}</p>
          <p className="soft">{text.cancelKeep}</p>
          {cancel.error && <ErrorNote>{describeError(cancel.error)}</ErrorNote>}
          {/* Not `Confirm`: its dismiss button is also called "Cancel". */}
          <div className="dialog-foot">
            <Button label={text.keep} onClick={close} />
            <Button
              label={text.cancel}
              variant="danger"
              busy={cancel.isPending}
              onClick={() => cancel.mutate({ params: { id } })}
            />
          </div>
        </Dialog>
      )}
    </>
  )
}

function DeleteButton({ broadcast: { id, total_count } }: { broadcast: Broadcast }) {
  const [, navigate] = useLocation()
  return (
    <ConfirmButton
      button={<Button label={text.delete} icon="trash" />}
      title={text.deleteTitle}
      text={text.deleteText(total_count)}
      action={text.delete}
      danger
      call="DELETE /broadcasts/{id}"
      input={{ params: { id } }}
      stale={['GET /broadcasts']}
      done={text.deleteDone}
      onDone={() => navigate('/broadcasts', { replace: true })}
    />
  )
}

/** Shown for a completed broadcast that missed recipients and was not resent yet. */
function Resend({ broadcast }: { broadcast: Broadcast }) {
  const { id, status, failed_count, skipped_count, completed_at, again_id } = broadcast
  const [, navigate] = useLocation()
  const hasOthers = status === 'canceled' && skipped_count > 0
  if (completed_at === null || again_id !== null || (failed_count === 0 && !hasOthers)) return null
  return (
    <ConfirmButton
      button={<Button label={hasOthers ? text.sendAgainRest : text.sendAgain} icon="refresh" />}
      title={text.againTitle}
      action={text.againAction}
      call="POST /broadcasts/{id}/again"
      input={{ params: { id }, body: null }}
      stale={stale}
      done={text.againDone}
      onDone={(made) => navigate(`/broadcasts/${made.id}`)}
    >
      {!hasOthers && <p>{text.againFailed(failed_count)}</p>}
      <p>{text.againText}</p>
    </ConfirmButton>
  )
}

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone

function ScheduledActions({ broadcast }: { broadcast: Broadcast }) {
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

const StartNow = ({ broadcast: { id, template } }: { broadcast: Broadcast }) => (
  <ConfirmButton
    button={<Button label={text.startNow} icon="send" />}
    title={text.startTitle}
    text={text.startText(template.name)}
    action={text.startNow}
    call="POST /broadcasts/{id}/start"
    input={{ params: { id } }}
    stale={stale}
    done={text.startDone}
  />
)
