/** The message as it is now, to one number, and what becomes of it while one looks. */
import { useRef, useState } from 'react'
import { Link } from 'wouter'
import { Badge, type Tone } from '../../../ui/badge.tsx'
import { Button } from '../../../ui/button.tsx'
import { Field, Input } from '../../../ui/form.tsx'
import { useToast } from '../../../ui/toast.tsx'
import { CallError, type DataOf, newIdempotencyKey, useCall, useChange } from '../lib/api.ts'
import { faultOf } from '../lib/faults.ts'
import { words } from '../words/words.ts'
import type { Body, Change, Draft } from './draft.ts'
import { reasonInWords } from './state.tsx'

const { compose: text } = words.broadcasts

type Sent = DataOf<'POST /broadcasts/test'>

type TestSendProps = { draft: Draft; template: Body['template'] | undefined; onChange: Change }

export function TestSend({ draft: { testTo: to }, template, onChange }: TestSendProps) {
  const toast = useToast()
  const [sent, setSent] = useState<Sent>()
  // Tried again after the line broke, the same test goes out once; answered, the next is another.
  const attempt = useRef({ body: '', idempotencyKey: '' })
  const test = useChange('POST /broadcasts/test', {
    onDone: (message) => {
      attempt.current.body = ''
      setSent(message)
      toast.success(text.testSent)
    },
    onFailed: (error) => {
      if (error instanceof CallError && error.code !== 'internal') attempt.current.body = ''
    },
  })
  const send = () => {
    if (!template) return
    const body = JSON.stringify({ template, to })
    if (attempt.current.body !== body) attempt.current = { body, idempotencyKey: newIdempotencyKey() }
    test.mutate({ body: { template, to }, idempotencyKey: attempt.current.idempotencyKey })
  }
  const fault = faultOf(test.error, 'to', 'template')
  return (
    <div className="stack">
      <Field label={text.testTo} hint={text.testHint} fault={fault && reasonInWords(fault)}>
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
            <Button icon="send" busy={test.isPending} disabled={!template || !to.trim()} onClick={send}>
              {text.testSend}
            </Button>
          </div>
        )}
      </Field>
      {sent && <Outcome key={sent.id} sent={sent} />}
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

function Outcome({ sent }: { sent: Sent }) {
  const place = { params: { id: sent.conversation_id }, query: { limit: 20 } }
  const asked = useCall('GET /conversations/{id}/messages', place, { live: true })
  const { status, error_reason: reason } = asked.data?.find(({ id }) => id === sent.id) ?? sent
  return (
    <p className="row" role="status">
      <span className="soft">{text.testResult}</span>
      <Badge tone={tones[status]}>{text.testStatuses[status]}</Badge>
      {reason && <span className="small">{reason}</span>}
      <Link href={`/inbox/${sent.conversation_id}`}>{text.openConversation}</Link>
    </p>
  )
}
