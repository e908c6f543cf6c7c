/**
 * A new broadcast, from its name to the last question before it is sent, on one
 * page. What is checked is checked while one writes; what is missing is said
 * where it is missing, but not before somebody tries to send.
 */
import { useEffect, useMemo, useRef, useState } from 'react'
import { useLocation } from 'wouter'
import { Button } from '../../../ui/button.tsx'
import { Card } from '../../../ui/card.tsx'
import { Confirm } from '../../../ui/dialog.tsx'
import { Field, Input } from '../../../ui/form.tsx'
import { useToast } from '../../../ui/toast.tsx'
import { describeError, newIdempotencyKey, useCall, useChange } from '../lib/api.ts'
import { formatTime } from '../lib/time.ts'
import { TemplatePreview } from '../templates/preview.tsx'
import type { Template } from '../templates/shape.ts'
import { Page, QueryView } from '../ui/page.tsx'
import { words } from '../words/words.ts'
import { Audience } from './audience.tsx'
import { useCheck } from './check.ts'
import { type Draft, useDraft } from './draft.ts'
import { joinFaults, missingFaults, readFaults } from './faults.ts'
import { Message } from './message.tsx'
import { Preflight } from './preflight.tsx'
import { Schedule } from './schedule.tsx'
import { TestSend } from './test-send.tsx'

const { compose: text } = words.broadcasts
const back = { href: '/broadcasts', label: words.broadcasts.back }

export function NewBroadcast() {
  const asked = useCall('GET /templates', {}, { live: true })
  const { draft, change, forget } = useDraft()
  const [, navigate] = useLocation()
  // What the address asked for is in the draft now; reloading must not ask for it again.
  useEffect(() => {
    navigate('/broadcasts/new', { replace: true })
  }, [navigate])
  return (
    <Page title={text.title} lead={text.lead} back={back} actions={<StartOver onStart={forget} />}>
      <QueryView query={asked}>
        {(templates) => <Compose templates={templates} draft={draft} onChange={change} onSent={forget} />}
      </QueryView>
    </Page>
  )
}

type ComposeProps = {
  templates: readonly Template[]
  draft: Draft
  onChange: (changes: Partial<Draft>) => void
  onSent: () => void
}

function Compose({ templates, draft, onChange, onSent }: ComposeProps) {
  const [isTried, setTried] = useState(false)
  const [isAsking, setAsking] = useState(false)
  const [looked, setLooked] = useState<Template>()
  const sections = useRef<HTMLDivElement>(null)
  const toast = useToast()
  const [, navigate] = useLocation()
  const checked = useCheck(draft, templates)
  const { numbers, chosen, missing, todos, preview, body, isChecking } = checked

  const create = useChange('POST /broadcasts', {
    stale: ['GET /broadcasts'],
    onDone: ({ id }) => {
      onSent()
      toast.success(draft.isLater ? text.scheduled : text.sent)
      navigate(`/broadcasts/${id}`)
    },
  })
  // The same broadcast, tried again after the line broke, goes out once.
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is sent makes it another.
  const idempotencyKey = useMemo(newIdempotencyKey, [body, draft.name])
  const told = readFaults(create.error ?? checked.error)
  const faults = isTried ? joinFaults(missingFaults(todos, missing, draft), told) : told
  const change = (changes: Partial<Draft>) => {
    if (create.error) create.reset()
    onChange(changes)
  }
  const trySend = () => {
    setTried(true)
    if (todos.length === 0 && preview) setAsking(true)
    // What is missing is marked by the next drawing of the page.
    else requestAnimationFrame(() => sections.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus())
  }
  const shown = looked ?? chosen
  const count = preview?.sendable ?? 0
  const isRefused = preview !== undefined && (count === 0 || !preview.plan.fits)
  const deed = draft.isLater ? text.scheduleFor(count) : text.send(count)
  return (
    <div className="broadcasts-compose" ref={sections}>
      <Card>
        <Field label={text.name} hint={text.nameHint} fault={faults.name}>
          {(wiring) => (
            <Input
              {...wiring}
              maxLength={80}
              placeholder={text.namePlaceholder}
              value={draft.name}
              onChange={(event) => change({ name: event.target.value })}
            />
          )}
        </Field>
      </Card>
      <Card title={text.audience}>
        <Audience draft={draft} numbers={numbers} fault={faults.audience} onChange={change} />
      </Card>
      <Card title={text.message}>
        <Message
          draft={draft}
          templates={templates}
          chosen={chosen}
          fault={faults.template}
          faults={faults.values}
          onChange={change}
          onLook={setLooked}
        />
      </Card>
      <aside className="broadcasts-beside" aria-label={words.templates.preview.title}>
        {shown ? (
          <TemplatePreview template={shown} params={looked ? undefined : draft.params} />
        ) : (
          <p className="broadcasts-nothing soft">{text.previewEmpty}</p>
        )}
      </aside>
      <Card title={text.schedule}>
        <Schedule draft={draft} fault={faults.at} onChange={change} />
      </Card>
      <Card title={text.test}>
        <TestSend
          draft={draft}
          template={chosen && missing.length === 0 ? { ...chosenOf(chosen), params: draft.params } : undefined}
          onChange={change}
        />
      </Card>
      <Card title={text.check}>
        <Preflight
          todos={todos}
          missingCount={missing.length}
          preview={preview}
          isChecking={isChecking}
          fault={told.other}
          hasFields={JSON.stringify(draft.params).includes('{{contact.')}
          onRetry={checked.retry}
        />
        <div className="row">
          <Button
            variant="primary"
            icon={draft.isLater ? 'clock' : 'send'}
            disabled={isRefused && todos.length === 0}
            busy={isChecking}
            onClick={trySend}
          >
            {preview && todos.length === 0 ? deed : text.sendPlain}
          </Button>
        </div>
      </Card>
      {isAsking && preview && body && (
        <Confirm
          title={draft.isLater ? text.confirmSchedule(count, formatTime(draft.at)) : text.confirmSend(count)}
          action={deed}
          busy={create.isPending}
          fault={create.error ? describeError(create.error) : undefined}
          onConfirm={() => create.mutate({ body: { ...body, name: draft.name }, idempotencyKey })}
          onClose={() => setAsking(false)}
        >
          <p>{(draft.isLater ? text.confirmLater : text.confirmText)(chosen?.name ?? '')}</p>
          {preview.total > count && <p className="soft">{text.left(preview.total - count)}</p>}
        </Confirm>
      )}
    </div>
  )
}

const chosenOf = ({ name, language }: Template) => ({ name, language })

function StartOver({ onStart }: { onStart: () => void }) {
  const [isAsking, setAsking] = useState(false)
  const toast = useToast()
  return (
    <>
      <Button variant="quiet" icon="trash" onClick={() => setAsking(true)}>
        {text.discard}
      </Button>
      {isAsking && (
        <Confirm
          title={text.discardTitle}
          action={text.discard}
          danger
          onConfirm={() => {
            setAsking(false)
            onStart()
            toast.success(text.discarded)
          }}
          onClose={() => setAsking(false)}
        >
          <p>{text.discardText}</p>
        </Confirm>
      )}
    </>
  )
}
