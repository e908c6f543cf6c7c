/** Opts a contact in to or out of broadcasts, with undo. `hint`: shown while the contact receives broadcasts. */
import { Switch } from '../../../ui/controls.tsx'
import { useToast } from '../../../ui/overlays.tsx'
import { type DataOf, useChange } from '../lib/api.ts'
import { nameOf } from '../lib/people.ts'
import { formatTime } from '../lib/time.ts'
import { words } from '../words/words.ts'

const { optOut } = words.contacts

type OptOutSwitchProps = { contact: DataOf<'GET /contacts/{id}'>; hint?: string }

export function OptOutSwitch({ contact, hint }: OptOutSwitchProps) {
  const { id, opted_out_at: at, opted_out_by: by } = contact
  const toast = useToast()
  const setOptedOut = (isOptedOut: boolean) => change.mutate({ params: { id }, body: { opted_out: isOptedOut } })
  const change = useChange('PATCH /contacts/{id}', {
    stale: ['GET /contacts/{id}', 'GET /contacts', 'GET /conversations', 'GET /conversations/{id}'],
    onDone: ({ opted_out_at }) =>
      toast.success((opted_out_at ? optOut.optedOut : optOut.optedIn)(nameOf(contact)), () =>
        setOptedOut(opted_out_at === null),
      ),
    reportsError: true,
  })
  return (
    <Switch
      label={optOut.label}
      hint={at ? optOut.sources[by ?? 'member'](formatTime(at)) : hint}
      checked={at === null}
      disabled={change.isPending}
      onChange={(event) => setOptedOut(!event.target.checked)}
    />
  )
}
