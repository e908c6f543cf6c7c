/** Replaces the signing secret of an endpoint. The member chooses how long the previous secret stays valid. */
import { useState } from 'react'
import { Button, SelectField } from '../../../ui/controls.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { describeError, useChange } from '../lib/api.ts'
import { formatTime } from '../lib/time.ts'
import { FormDialog, SecretDialog } from '../ui/dialogs.tsx'
import { webhookWords } from '../words/webhooks.ts'
import type { Endpoint } from './endpoint.tsx'

const { rotate: labels } = webhookWords

const overlaps = [24, 72, 1, 0] as const

/** The secret of an endpoint, which is never shown, and for owners and admins a button that replaces it. */
export function SecretFact({ endpoint, isManager }: { endpoint: Endpoint; isManager: boolean }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <div className="row hooks-secret">
      <span className="mono soft">{labels.hidden}</span>
      {isManager && <Button label={labels.open} size="small" icon="key" onClick={() => setOpen(true)} />}
      {endpoint.old_secret_until && (
        <span className="soft small">{labels.until(formatTime(endpoint.old_secret_until))}</span>
      )}
      {isOpen && <RotateDialog endpointId={endpoint.id} onClose={() => setOpen(false)} />}
    </div>
  )
}

function RotateDialog({ endpointId, onClose }: { endpointId: string; onClose: () => void }) {
  const [overlapHours, setOverlapHours] = useState<number>(overlaps[0])
  const rotate = useChange('POST /webhooks/{id}/rotate-secret', { stale: ['GET /webhooks'] })
  if (rotate.data) {
    return (
      <SigningSecret
        title={labels.doneTitle}
        text={overlapHours > 0 ? labels.doneText : labels.doneAtOnce}
        secret={rotate.data.secret}
        onClose={onClose}
      />
    )
  }
  return (
    <FormDialog
      title={labels.title}
      action={labels.action}
      isBusy={rotate.isPending}
      isHeld
      onSubmit={() => rotate.mutate({ params: { id: endpointId }, body: { overlap_hours: overlapHours } })}
      onClose={onClose}
    >
      <p className="soft">{labels.text}</p>
      <SelectField
        label={labels.overlap}
        hint={overlapHours > 0 ? labels.overlapHint : labels.atOnceHint}
        error={rotate.error ? describeError(rotate.error) : undefined}
        value={overlapHours}
        options={overlaps.map((hours) => [String(hours), labels.overlaps[hours]])}
        onChange={({ target }) => setOverlapHours(Number(target.value))}
      />
    </FormDialog>
  )
}

const { secret: secretLabels } = webhookWords

type SecretProps = { title: string; text: string; secret: string; onClose: () => void }

/** Shows the signing secret of a new endpoint once, with how to verify signatures. */
export function SigningSecret({ title, text, secret, onClose }: SecretProps) {
  return (
    <SecretDialog title={title} warning={<p>{text}</p>} secret={secret} done={secretLabels.done} onDone={onClose}>
      <p className="soft small">{secretLabels.verify}</p>
      <a className="hooks-link small" href="/docs#verifying" target="_blank" rel="noopener">
        {secretLabels.toVerify}
        <Icon name="external" />
      </a>
    </SecretDialog>
  )
}
