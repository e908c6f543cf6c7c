/** Sends the draft as a test to one number and shows its delivery status. */
import { useRef, useState } from 'react'
import { Link } from 'wouter'
import { Button, Field, Input } from '../../../ui/controls.tsx'
import { Badge, type Tone } from '../../../ui/display.tsx'
import { CallError, type DataOf, newIdempotencyKey, useCall, useChange } from '../lib/api.ts'
import { fieldErrorOf } from '../lib/field-errors.ts'
import { broadcastWords } from '../words/broadcasts.ts'
import { words } from '../words/words.ts'
import { reasonText } from './status.tsx'
import type { Body, Change, Draft } from './use-draft.ts'

const { compose: text } = broadcastWords

type Sent = DataOf<'POST /broadcasts/test'>

type TestSendProps = { draft: Draft; from: string; template: Body['template'] | undefined; onChange: Change }

export function TestSend({ draft: { testTo: to }, from, template, onChange }: TestSendProps) {
  const [sent, setSent] = useState<Sent>()
  // A retry after a lost connection reuses the `Idempotency-Key`. After an answer, the next test gets a new key.
  const attempt = useRef({ body: '', idempotencyKey: '' })
  const test = useChange('POST /broadcasts/test', {
    done: text.testSent,
    onDone: (message) => {
      attempt.current.body = ''
      setSent(message)
    },
    onFailed: (error) => {
      if (error instanceof CallError && error.code !== 'internal') attempt.current.body = ''
    },
  })
  const send = () => {
    if (!template) return
    const message = { template, to, ...(from ? { from } : {}) }
    const body = JSON.stringify(message)
    if (attempt.current.body !== body) attempt.current = { body, idempotencyKey: newIdempotencyKey() }
    test.mutate({ body: message, idempotencyKey: attempt.current.idempotencyKey })
  }
  const error = fieldErrorOf(test.error, 'to', 'template')
  return (
    <div className="stack">
      <Field label={text.testTo} hint={text.testHint} error={error && reasonText(error)}>
        {(wiring) => (
          <div className="broadcasts-test">
            <Input
              {...wiring}
              type="tel"
              autoComplete="tel"
              value={to}
              onChange={(event) => onChange({ testTo: event.target.value })}
              onKeyDown={(event) => event.key === 'Enter' && to.trim() && send()}
            />
            <Button
              label={text.testSend}
              icon="send"
              busy={test.isPending}
              disabled={!template || !to.trim()}
              onClick={send}
            />
          </div>
        )}
      </Field>
      {sent && <TestStatus key={sent.id} sent={sent} />}
    </div>
  )
}

const tones: Partial<Record<Sent['status'], Tone>> = {
  pending: 'amber',
  sent: 'blue',
  delivered: 'green',
  read: 'accent',
  failed: 'red',
}

function TestStatus({ sent }: { sent: Sent }) {
  const input = { params: { id: sent.conversation_id }, query: { limit: 20 } }
  const query = useCall('GET /conversations/{id}/messages', input, { live: true })
  const { status, error_reason: reason } = query.data?.find(({ id }) => id === sent.id) ?? sent
  return (
    <p className="row" role="status">
      <span className="soft">{text.testResult}</span>
      <Badge tone={tones[status]}>{words.inbox.message.statuses[status]}</Badge>
      {reason && <span className="small">{reason}</span>}
      <Link href={`/inbox/${sent.conversation_id}`}>{text.openConversation}</Link>
    </p>
  )
}
