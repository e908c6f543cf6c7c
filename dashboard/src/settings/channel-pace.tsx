/** How fast broadcasts go out on a channel: as fast as the provider takes them from this account. */
import { type FormEvent, useState } from 'react'
import { Button } from '../../../ui/button.tsx'
import { Card } from '../../../ui/card.tsx'
import { Field, Input } from '../../../ui/form.tsx'
import { useToast } from '../../../ui/toast.tsx'
import { useChange } from '../lib/api.ts'
import { faultsOf } from '../lib/faults.ts'
import { words } from '../words/words.ts'
import type { Connection } from './channels.tsx'

const { channels } = words.settings

export function ChannelPace({ of: { channel, messages_per_second: stored } }: { of: Connection }) {
  const toast = useToast()
  const [pace, setPace] = useState(String(stored))
  const save = useChange('PUT /channels/{channel}', {
    stale: ['GET /channels'],
    onDone: () => toast.done(words.common.saved),
  })
  const faults = faultsOf(save.error, ['messages_per_second'])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    save.mutate({ params: { channel }, body: { messages_per_second: Number(pace) } })
  }
  return (
    <Card title={channels.pace}>
      <form className="settings-inline" onSubmit={submit}>
        <Field label={channels.paceLabel} hint={channels.paceHint} fault={faults.messages_per_second ?? faults.rest}>
          {(wiring) => (
            <div className="settings-inline-input">
              <Input
                {...wiring}
                type="number"
                required
                min={1}
                max={10_000}
                step={1}
                value={pace}
                onChange={(event) => setPace(event.target.value)}
              />
              <Button type="submit" busy={save.isPending} disabled={Number(pace) === stored}>
                {words.common.save}
              </Button>
            </div>
          )}
        </Field>
      </form>
    </Card>
  )
}
