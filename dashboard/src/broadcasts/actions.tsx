/** The actions of a broadcast in its state: the main one as a button, the others in a menu. */
import { type ReactNode, useState } from 'react'
import { useLocation } from 'wouter'
import { Button, IconButton, InputField } from '../../../ui/controls.tsx'
import { ErrorNote } from '../../../ui/display.tsx'
import type { IconName } from '../../../ui/icon.tsx'
import { Menu } from '../../../ui/menu.tsx'
import { Confirm, Dialog } from '../../../ui/overlays.tsx'
import { describeError, useChange } from '../lib/api.ts'
import { describeConnection, useNumbers } from '../lib/connections.ts'
import { toDatetimeLocal } from '../lib/time.ts'
import { ConfirmCall } from '../ui/dialogs.tsx'
import { Facts } from '../ui/facts.tsx'
import { broadcastWords } from '../words/broadcasts.ts'
import { type Broadcast, draftHref } from './status.tsx'

const { detail: text, compose } = broadcastWords

const stale = ['GET /broadcasts', 'GET /broadcasts/{id}', 'GET /broadcasts/{id}/recipients'] as const

type Action = { label: string; icon: IconName; run: () => void; danger?: boolean; isBusy?: boolean }
type DialogName = 'cancel' | 'delete' | 'reschedule' | 'resend' | 'start'

export function Actions({ broadcast }: { broadcast: Broadcast }) {
  const [dialog, setDialog] = useState<DialogName>()
  const close = () => setDialog(undefined)
  const actions = useActions(broadcast, setDialog)
  const main = actions.find(({ danger }) => !danger)
  const others = actions.filter((action) => action !== main)
  const dialogs: Record<DialogName, ReactNode> = {
    cancel: <CancelDialog broadcast={broadcast} onClose={close} />,
    delete: <DeleteDialog broadcast={broadcast} onClose={close} />,
    reschedule: <RescheduleDialog broadcast={broadcast} onClose={close} />,
    resend: <ResendDialog broadcast={broadcast} onClose={close} />,
    start: <StartDialog broadcast={broadcast} onClose={close} />,
  }
  return (
    <>
      {main && (
        <Button label={main.label} variant="primary" icon={main.icon} busy={main.isBusy ?? false} onClick={main.run} />
      )}
      {others.length > 0 && (
        <Menu
          label={text.more}
          button={<IconButton label={text.more} icon="more" size="medium" />}
          items={others.map(({ label, icon, danger = false, run }) => ({ label, icon, danger, onSelect: run }))}
        />
      )}
      {dialog && dialogs[dialog]}
    </>
  )
}

/** The actions that the broadcast allows now, the most likely one first. */
function useActions(broadcast: Broadcast, open: (dialog: DialogName) => void): Action[] {
  const { id, status, is_paused, channel_error, total_count, pending_count, awaiting_count, segment_id } = broadcast
  const [, navigate] = useLocation()
  // During an outage of the provider a member can retry at once or pause the broadcast.
  const isWaiting = channel_error !== null
  const resume = useChange('POST /broadcasts/{id}/resume', {
    stale,
    done: isWaiting ? text.tryDone : text.resumeDone,
    reportsError: true,
  })
  const pause = useChange('POST /broadcasts/{id}/pause', { stale, done: text.pauseDone, reportsError: true })
  const params = { id }
  const actions: Record<string, Action> = {
    continue: { label: text.continue, icon: 'edit', run: () => navigate(draftHref(broadcast)) },
    start: { label: text.startNow, icon: 'send', run: () => open('start') },
    edit: { label: text.edit, icon: 'edit', run: () => navigate(`/broadcasts/${id}/edit`) },
    reschedule: { label: text.reschedule, icon: 'clock', run: () => open('reschedule') },
    resume: {
      label: isWaiting ? text.tryNow : text.resume,
      icon: 'play',
      isBusy: resume.isPending,
      run: () => resume.mutate({ params }),
    },
    pause: { label: text.pause, icon: 'pause', isBusy: pause.isPending, run: () => pause.mutate({ params }) },
    resend: { label: resendLabel(broadcast), icon: 'refresh', run: () => open('resend') },
    copy: { label: text.copy, icon: 'copy', run: () => navigate(`/broadcasts/${id}/copy`) },
    cancel: { label: text.cancel, icon: 'stop', danger: true, run: () => open('cancel') },
    delete: { label: text.delete, icon: 'trash', danger: true, run: () => open('delete') },
  }
  const isDraft = status === 'draft'
  const hasMore = status === 'scheduled' || total_count === 0 || pending_count > awaiting_count
  const hasRecipients = total_count > 0 || segment_id !== null || broadcast.audience !== null
  const isOpen = status === 'scheduled' || status === 'sending'
  const allowed: [name: string, isAllowed: boolean][] = [
    ['continue', isDraft && broadcast.saved_at !== null],
    ['start', isDraft && broadcast.saved_at === null && hasRecipients],
    ['resume', isOpen && is_paused],
    ['edit', status === 'scheduled'],
    ['reschedule', status === 'scheduled'],
    ['start', status === 'scheduled'],
    ['pause', isOpen && hasMore && (!is_paused || isWaiting)],
    ['resend', canResend(broadcast)],
    ['copy', !isDraft],
    ['cancel', isOpen],
    ['delete', isDraft],
  ]
  return allowed.flatMap(([name, isAllowed]) => (isAllowed && actions[name] ? [actions[name]] : []))
}

type DialogProps = { broadcast: Broadcast; onClose: () => void }

function CancelDialog({ broadcast: { id, status, pending_count, sent_count }, onClose }: DialogProps) {
  const cancel = useChange('POST /broadcasts/{id}/cancel', { stale, done: text.cancelDone, onDone: onClose })
  return (
    <Dialog title={text.cancelTitle} onClose={onClose}>
      <p>{status === 'scheduled' ? text.cancelScheduled : text.cancelSending(sent_count, pending_count)}</p>
      <p className="soft">{text.cancelKeep}</p>
      {cancel.error && <ErrorNote>{describeError(cancel.error)}</ErrorNote>}
      {/* Not `Confirm`: its dismiss button is also called "Cancel". */}
      <div className="dialog-foot">
        <Button label={text.keep} onClick={onClose} />
        <Button
          label={text.cancel}
          variant="danger"
          busy={cancel.isPending}
          onClick={() => cancel.mutate({ params: { id } })}
        />
      </div>
    </Dialog>
  )
}

function DeleteDialog({ broadcast: { id, total_count }, onClose }: DialogProps) {
  const [, navigate] = useLocation()
  return (
    <ConfirmCall
      title={text.deleteTitle}
      text={text.deleteText(total_count)}
      action={text.delete}
      danger
      call="DELETE /broadcasts/{id}"
      input={{ params: { id } }}
      stale={['GET /broadcasts']}
      done={text.deleteDone}
      onDone={() => navigate('/broadcasts', { replace: true })}
      onClose={onClose}
    />
  )
}

const hasOthers = ({ status, skipped_count }: Broadcast): boolean => status === 'canceled' && skipped_count > 0

const resendLabel = (broadcast: Broadcast): string => (hasOthers(broadcast) ? text.sendAgainRest : text.sendAgain)

/** A completed broadcast that missed recipients and was not resent yet. */
const canResend = (broadcast: Broadcast): boolean =>
  broadcast.completed_at !== null && broadcast.again_id === null && (broadcast.failed_count > 0 || hasOthers(broadcast))

function ResendDialog({ broadcast, onClose }: DialogProps) {
  const [, navigate] = useLocation()
  return (
    <ConfirmCall
      title={text.againTitle}
      action={text.againAction}
      call="POST /broadcasts/{id}/again"
      input={{ params: { id: broadcast.id }, body: null }}
      stale={stale}
      done={text.againDone}
      onDone={(made) => navigate(`/broadcasts/${made.id}`)}
      onClose={onClose}
    >
      {!hasOthers(broadcast) && <p>{text.againFailed(broadcast.failed_count)}</p>}
      <p>{text.againText}</p>
      <SentFrom broadcast={broadcast} />
    </ConfirmCall>
  )
}

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone

function RescheduleDialog({ broadcast: { id, scheduled_at: before }, onClose }: DialogProps) {
  const [at, setAt] = useState(() => toDatetimeLocal(before ? Date.parse(before) : Date.now()))
  const [isPast, setPast] = useState(false)
  const change = useChange('PATCH /broadcasts/{id}', { stale, done: text.rescheduleDone, onDone: onClose })
  const save = () => {
    const ms = new Date(at).getTime()
    const isUsable = ms > Date.now()
    setPast(!isUsable)
    if (isUsable) change.mutate({ params: { id }, body: { scheduled_at: new Date(ms).toISOString() } })
  }
  return (
    <Confirm
      title={text.rescheduleTitle}
      action={text.reschedule}
      busy={change.isPending}
      error={change.error ? describeError(change.error) : undefined}
      onConfirm={save}
      onClose={onClose}
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
  )
}

const StartDialog = ({ broadcast, onClose }: DialogProps) => (
  <ConfirmCall
    title={text.startTitle}
    text={text.startText(broadcast.template.name)}
    action={text.startNow}
    call="POST /broadcasts/{id}/start"
    input={{ params: { id: broadcast.id } }}
    stale={stale}
    done={text.startDone}
    onClose={onClose}
  >
    <SentFrom broadcast={broadcast} />
  </ConfirmCall>
)

/** The number that sends, if the workspace has several. */
function SentFrom({ broadcast }: { broadcast: Broadcast }) {
  const numbers = useNumbers()
  const sender = numbers.find(({ id }) => id === broadcast.connection_id)
  if (!sender || numbers.length < 2) return null
  return <Facts facts={{ [compose.confirmFacts.from]: describeConnection(sender) }} />
}
