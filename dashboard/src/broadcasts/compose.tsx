/**
 * The new broadcast page. The draft is checked while the member edits it. Missing fields are marked after the first attempt to
 * send.
 */
import { useEffect, useMemo, useRef, useState } from 'react'
import { useLocation } from 'wouter'
import { Button, InputField, SegmentedControl } from '../../../ui/controls.tsx'
import { Card } from '../../../ui/display.tsx'
import { Confirm, useToast } from '../../../ui/overlays.tsx'
import { describeError, newIdempotencyKey, useCall, useChange } from '../lib/api.ts'
import { formatTime, toDatetimeLocal } from '../lib/time.ts'
import type { Template } from '../templates/parse-template.ts'
import { TemplatePreview } from '../templates/preview.tsx'
import { Page, QueryView } from '../ui/page.tsx'
import { words } from '../words/words.ts'
import { Audience } from './audience.tsx'
import { mergeErrors, missingErrors, readErrors } from './errors.ts'
import { MessageSection } from './message.tsx'
import { Review } from './review.tsx'
import { TestSend } from './test-send.tsx'
import { type Body, type Change, type Draft, sampleValuesOf, useDraft, useDraftCheck } from './use-draft.ts'

const { compose: text } = words.broadcasts
const back = { href: '/broadcasts', label: words.broadcasts.back }

export function NewBroadcast() {
  const query = useCall('GET /templates', {}, { live: true })
  const { draft, change, discard } = useDraft()
  const [, navigate] = useLocation()
  // The draft holds the URL parameters now. Removes them, so that a reload does not apply them again.
  useEffect(() => {
    navigate('/broadcasts/new', { replace: true })
  }, [navigate])
  return (
    <Page title={text.title} lead={text.lead} back={back} actions={<DiscardDraft onDiscard={discard} />}>
      <QueryView query={query}>
        {(templates) => <ComposeForm templates={templates} draft={draft} onChange={change} onSent={discard} />}
      </QueryView>
    </Page>
  )
}

type ComposeProps = {
  templates: readonly Template[]
  draft: Draft
  onChange: (changes: Partial<Draft>) => void
  onSent: () => void
  /** The scheduled broadcast that the draft changes; absent for a new one. */
  editedId?: string
}

export function ComposeForm({ templates, draft, onChange, onSent, editedId }: ComposeProps) {
  const [isSubmitted, setSubmitted] = useState(false)
  const [isConfirming, setConfirming] = useState(false)
  const [previewed, setPreviewed] = useState<Template>()
  const sections = useRef<HTMLDivElement>(null)
  const toast = useToast()
  const [, navigate] = useLocation()
  const check = useDraftCheck(draft, templates)
  const { numbers, chosen, missing, todos, preview, body, isChecking } = check

  const stale = ['GET /broadcasts', 'GET /broadcasts/{id}'] as const
  const onDone = ({ id }: { id: string }) => {
    onSent()
    toast.success(draft.isLater ? text.scheduled : text.sent)
    navigate(`/broadcasts/${id}`)
  }
  const create = useChange('POST /broadcasts', { stale, onDone })
  const start = useChange('POST /broadcasts/{id}/start', { stale, onDone })
  const edit = useChange('PATCH /broadcasts/{id}', {
    stale,
    onDone: (edited) => (draft.isLater ? onDone(edited) : start.mutate({ params: { id: edited.id } })),
  })
  const sending = [create, edit, start]
  const sendError = sending.find(({ error }) => error)?.error
  const send = (body: Body) => {
    const whole = { ...body, name: draft.name }
    if (editedId) edit.mutate({ params: { id: editedId }, body: whole })
    else create.mutate({ body: whole, idempotencyKey })
  }
  // The `Idempotency-Key`: a retry after a lost connection does not create the broadcast twice.
  // biome-ignore lint/correctness/useExhaustiveDependencies: a changed draft needs a new key.
  const idempotencyKey = useMemo(newIdempotencyKey, [body, draft.name])
  const serverErrors = readErrors(sendError ?? check.error)
  const errors = isSubmitted ? mergeErrors(missingErrors(todos, missing, draft), serverErrors) : serverErrors
  const change = (changes: Partial<Draft>) => {
    for (const { error, reset } of sending) if (error) reset()
    onChange(changes)
  }
  const trySend = () => {
    setSubmitted(true)
    if (todos.length === 0 && preview) setConfirming(true)
    // The missing fields are marked after the next render.
    else requestAnimationFrame(() => sections.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus())
  }
  const shownTemplate = previewed ?? chosen
  const sampleValues = sampleValuesOf(draft, numbers)
  const count = preview?.sendable ?? 0
  const isBlocked = preview !== undefined && (count === 0 || !preview.plan.fits)
  const action = draft.isLater ? text.scheduleFor(count) : text.send(count)
  return (
    <div className="broadcasts-compose" ref={sections}>
      <Card>
        <InputField
          label={text.name}
          hint={text.nameHint}
          error={errors.name}
          maxLength={80}
          placeholder={text.namePlaceholder}
          value={draft.name}
          onChange={(event) => change({ name: event.target.value })}
        />
      </Card>
      <Card title={text.audience}>
        <Audience draft={draft} numbers={numbers} error={errors.audience} onChange={change} />
      </Card>
      <Card title={text.message}>
        <MessageSection
          draft={draft}
          templates={templates}
          chosen={chosen}
          error={errors.template}
          errors={errors.values}
          onChange={change}
          onPreview={setPreviewed}
        />
      </Card>
      <aside className="stack broadcasts-beside" aria-label={words.templates.preview.title}>
        {shownTemplate ? (
          <TemplatePreview template={shownTemplate} params={previewed ? undefined : sampleValues} />
        ) : (
          <p className="broadcasts-nothing soft">{text.previewEmpty}</p>
        )}
      </aside>
      <Card title={text.schedule}>
        <Schedule draft={draft} error={errors.at} onChange={change} />
      </Card>
      <Card title={text.test}>
        <TestSend
          draft={draft}
          template={
            chosen && missing.length === 0 ? { ...draft.template, ...refOf(chosen), params: sampleValues } : undefined
          }
          onChange={change}
        />
      </Card>
      <Card title={text.check}>
        <Review
          todos={todos}
          missingCount={missing.length}
          preview={preview}
          isChecking={isChecking}
          error={serverErrors.other}
          hasFields={JSON.stringify(draft.params).includes('{{contact.')}
          onRetry={check.retry}
        />
        <div className="row">
          <Button
            label={preview && todos.length === 0 ? action : text.sendPlain}
            variant="primary"
            icon={draft.isLater ? 'clock' : 'send'}
            disabled={isBlocked && todos.length === 0}
            busy={isChecking}
            onClick={trySend}
          />
        </div>
      </Card>
      {isConfirming && preview && body && (
        <Confirm
          title={draft.isLater ? text.confirmSchedule(count, formatTime(draft.at)) : text.confirmSend(count)}
          action={action}
          busy={sending.some(({ isPending }) => isPending)}
          error={sendError ? describeError(sendError) : undefined}
          onConfirm={() => send(body)}
          onClose={() => setConfirming(false)}
        >
          <p>{(draft.isLater ? text.confirmLater : text.confirmText)(chosen?.name ?? '')}</p>
          {preview.total > count && <p className="soft">{text.left(preview.total - count)}</p>}
        </Confirm>
      )}
    </div>
  )
}

const refOf = ({ name, language }: Template) => ({ name, language })

function DiscardDraft({ onDiscard }: { onDiscard: () => void }) {
  const [isConfirming, setConfirming] = useState(false)
  const toast = useToast()
  return (
    <>
      <Button label={text.discard} variant="quiet" icon="trash" onClick={() => setConfirming(true)} />
      {isConfirming && (
        <Confirm
          title={text.discardTitle}
          action={text.discard}
          danger
          onConfirm={() => {
            setConfirming(false)
            onDiscard()
            toast.success(text.discarded)
          }}
          onClose={() => setConfirming(false)}
        >
          <p>{text.discardText}</p>
        </Confirm>
      )}
    </>
  )
}

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
const minuteMs = 60_000

/** The start of a broadcast: now, or at a date and time in the browser's time zone. */
function Schedule({ draft, error, onChange }: { draft: Draft; error: string | undefined; onChange: Change }) {
  return (
    <>
      <div>
        <SegmentedControl
          label={text.starts}
          value={draft.isLater ? 'later' : 'now'}
          options={[
            { value: 'now', label: text.startNow },
            { value: 'later', label: text.startLater },
          ]}
          onChange={(value) => onChange({ isLater: value === 'later', at: draft.at || nextHour() })}
        />
      </div>
      {draft.isLater && (
        <InputField
          label={text.at}
          hint={text.zone(zone)}
          error={error}
          type="datetime-local"
          min={toDatetimeLocal(Date.now())}
          value={draft.at}
          onChange={(event) => onChange({ at: event.target.value })}
        />
      )}
    </>
  )
}

const nextHour = (): string => toDatetimeLocal(Math.ceil((Date.now() + 5 * minuteMs) / (60 * minuteMs)) * 60 * minuteMs)
