/** The maximum rate at which broadcasts are sent on a channel. */
import { useState } from 'react'
import { Button, Field, Form, Input } from '../../../ui/controls.tsx'
import { Card } from '../../../ui/display.tsx'
import { useChange } from '../lib/api.ts'
import { fieldErrorsOf } from '../lib/field-errors.ts'
import { words } from '../words/words.ts'
import type { Connection } from './connection.ts'

const { channels } = words.settings

export function SendingRate({ connection: { channel, messages_per_second: stored } }: { connection: Connection }) {
  const [rate, setRate] = useState(String(stored))
  const save = useChange('PUT /channels/{channel}', { stale: ['GET /channels'], done: words.common.saved })
  const errors = fieldErrorsOf(save.error, ['messages_per_second'])
  const isUnchanged = Number(rate) === stored
  const submit = () => save.mutate({ params: { channel }, body: { messages_per_second: Number(rate) } })
  return (
    <Card title={channels.rate}>
      <Form className="settings-inline" onSubmit={submit}>
        <Field label={channels.rateLabel} hint={channels.rateHint} error={errors.messages_per_second ?? errors.rest}>
          {(wiring) => (
            <div className="settings-inline-input">
              <Input
                {...wiring}
                type="number"
                required
                min={1}
                max={10_000}
                step={1}
                value={rate}
                onChange={(event) => setRate(event.target.value)}
              />
              <Button label={words.common.save} type="submit" busy={save.isPending} disabled={isUnchanged} />
            </div>
          )}
        </Field>
      </Form>
    </Card>
  )
}
