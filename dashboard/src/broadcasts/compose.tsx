/**
 * The new broadcast page. The draft is saved and checked while the member edits it. Missing fields are marked after the first
 * attempt to send.
 */
import { type ReactNode, useMemo, useRef, useState } from 'react'
import { Redirect, useLocation, useSearch } from 'wouter'
import { Button, InputField, SegmentedControl, SelectField } from '../../../ui/controls.tsx'
import { Card, Note } from '../../../ui/display.tsx'
import { Confirm, useToast } from '../../../ui/overlays.tsx'
import { describeError, isNotFound, newIdempotencyKey, useCall, useChange } from '../lib/api.ts'
import { describeConnection, useNumbers } from '../lib/connections.ts'
import { formatNumber, formatTime, toDatetimeLocal } from '../lib/time.ts'
import { ItemNotFound } from '../shell/errors.tsx'
import { imagesOf, useHasBrokenImage } from '../templates/image-check.ts'
import type { Template } from '../templates/parse-template.ts'
import { ConfirmButton } from '../ui/dialogs.tsx'
import { Facts } from '../ui/facts.tsx'
import { Page, QueryView } from '../ui/page.tsx'
import { broadcastWords } from '../words/broadcasts.ts'
import { words } from '../words/words.ts'
import { Audience, useAudienceText } from './audience.tsx'
import { type Autosave, type SaveState, useAutosave } from './autosave.ts'
import { mergeErrors, missingErrors, readErrors } from './errors.ts'
import { MessageSection } from './message.tsx'
import { RecipientPreview } from './recipient-preview.tsx'
import { Review } from './review.tsx'
import { TestSend } from './test-send.tsx'
import { type Body, type Change, type Draft, newDraft, sampleValuesOf, toDraft, useDraftCheck } from './use-draft.ts'

const { compose: text } = broadcastWords
const back = { href: '/broadcasts', label: broadcastWords.back }

export function NewBroadcast() {
  const { query, key, onCreated } = useOpenedQuery()
  const id = query.get('draft')
  const page = { ...newPage, onCreated }
  return id ? <SavedDraft key={key} {...page} id={id} /> : <DraftPage key={key} {...page} start={newDraft(query)} />
}

const newPage = { title: text.title, lead: text.lead, back }

/**
 * The query of the URL with which a page of a draft was opened. `onCreated` puts the id of the new draft into the URL, for a reload;
 * the page stays. Any other change of the query opens another page, with another key.
 */
export function useOpenedQuery() {
  const search = useSearch()
  const [path, navigate] = useLocation()
  const opened = useRef({ search, query: search, key: 0 })
  if (opened.current.search !== search) opened.current = { search, query: search, key: opened.current.key + 1 }
  return {
    query: new URLSearchParams(opened.current.query),
    key: opened.current.key,
    onCreated: (id: string) => {
      const query = new URLSearchParams({ draft: id }).toString()
      opened.current.search = query
      navigate(`${path}?${query}`, { replace: true })
    },
  }
}

type PageOfDraft = {
  title: string
  lead: string
  back: { href: string; label: string }
  onCreated: (id: string) => void
}

/** A member continues a draft. */
export function SavedDraft({ id, ...page }: PageOfDraft & { id: string }) {
  const source = useCall('GET /broadcasts/{id}/source', { params: { id } }, { isKept: false })
  if (source.data && source.data.status !== 'draft') return <Redirect to={`/broadcasts/${id}`} replace />
  if (source.data) return <DraftPage {...page} start={toDraft(source.data)} startId={id} />
  if (isNotFound(source.error)) return <ItemNotFound {...broadcastWords.notFound} href="/broadcasts" />
  const { onCreated: _, ...head } = page
  return (
    <Page {...head}>
      <QueryView query={source}>{() => null}</QueryView>
    </Page>
  )
}

type DraftPageProps = PageOfDraft & {
  /** What the draft starts with, of the first render. */
  start: Draft
  startId?: string
  /** Above the form. */
  children?: ReactNode
}

/** The page of a draft, which is saved while the member writes. */
export function DraftPage({ start, startId, onCreated, children, ...page }: DraftPageProps) {
  const [draft, setDraft] = useState(start)
  const saving = useAutosave(draft, startId, onCreated)
  const actions = (
    <>
      <SaveStatus state={saving.state} />
      {saving.id && <DiscardDraft id={saving.id} onDiscard={saving.end} />}
    </>
  )
  return (
    <Page {...page} actions={actions}>
      {children}
      <ComposeForm draft={draft} onChange={(changes) => setDraft((now) => ({ ...now, ...changes }))} saving={saving} />
    </Page>
  )
}

const SaveStatus = ({ state }: { state: SaveState }) => (
  <span
    className="soft small broadcasts-saved"
    role="status"
    data-failed={state === 'retrying' || state === 'refused' || state === 'gone' ? '' : undefined}
  >
    {text.saveStates[state]}
  </span>
)

type ComposeProps = {
  draft: Draft
  onChange: (changes: Partial<Draft>) => void
  /** Of a draft that is saved. */
  saving?: Autosave
  /** The scheduled broadcast that the draft changes; absent for a new one. */
  editedId?: string
}

export function ComposeForm(props: ComposeProps) {
  const templates = useCall('GET /templates', {}, { live: true })
  return <QueryView query={templates}>{(found) => <LoadedForm templates={found} {...props} />}</QueryView>
}

type LoadedProps = ComposeProps & { templates: readonly Template[] }

function LoadedForm({ templates: allTemplates, draft, onChange, saving, editedId }: LoadedProps) {
  const [isSubmitted, setSubmitted] = useState(false)
  const [isConfirming, setConfirming] = useState(false)
  const [isFlushing, setFlushing] = useState(false)
  const [previewed, setPreviewed] = useState<Template>()
  const sections = useRef<HTMLDivElement>(null)
  const toast = useToast()
  const [, navigate] = useLocation()
  const senders = useNumbers()
  // The number of a draft may be disconnected since.
  const sender = senders.find(({ id }) => id === draft.from) ?? senders[0]
  const from = sender && (draft.from !== '' || senders.length > 1) ? sender.id : ''
  const templates = sender ? allTemplates.filter(({ account }) => account === sender.account_id) : allTemplates
  const check = useDraftCheck(draft, templates, from)
  const { numbers, chosen, missing, todos, preview, body, isChecking } = check

  const stale = ['GET /broadcasts', 'GET /broadcasts/{id}'] as const
  const onDone = ({ id }: { id: string }) => {
    saving?.end()
    toast.success(draft.isLater ? text.scheduled : text.sent)
    // The draft is gone: back leads to the list.
    navigate(`/broadcasts/${id}`, { replace: saving !== undefined })
  }
  const create = useChange('POST /broadcasts', { stale, onDone })
  const sendDraft = useChange('POST /broadcasts/{id}/send', { stale, onDone })
  const start = useChange('POST /broadcasts/{id}/start', { stale, onDone })
  const edit = useChange('PATCH /broadcasts/{id}', {
    stale,
    onDone: (edited) => (draft.isLater ? onDone(edited) : start.mutate({ params: { id: edited.id } })),
  })
  const sending = [create, sendDraft, edit, start]
  const sendError = sending.find(({ error }) => error)?.error
  const send = async (body: Body) => {
    const whole = { ...body, name: draft.name }
    setFlushing(true)
    const draftId = await saving?.flush()
    setFlushing(false)
    if (editedId) edit.mutate({ params: { id: editedId }, body: whole })
    else if (draftId) sendDraft.mutate({ params: { id: draftId }, body: whole, idempotencyKey })
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
  const hasBrokenImage = useHasBrokenImage(chosen ? imagesOf(chosen, draft.params) : [])
  const audience = useAudienceText(draft)
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
        {sender && senders.length > 1 && (
          <SelectField
            label={text.from}
            hint={text.fromHint(sender.messages_per_second)}
            error={errors.from}
            value={sender.id}
            options={senders.map((each) => [each.id, describeConnection(each)])}
            onChange={({ target }) => change({ from: target.value })}
          />
        )}
      </Card>
      <Card title={text.audience}>
        <Audience draft={draft} numbers={numbers} error={errors.audience} onChange={change} />
      </Card>
      <Card title={text.message}>
        <MessageSection
          draft={draft}
          templates={templates}
          senderName={sender && senders.length > 1 ? sender.name : undefined}
          chosen={chosen}
          error={errors.template}
          errors={errors.values}
          onChange={change}
          onPreview={setPreviewed}
        />
      </Card>
      <aside className="stack broadcasts-beside" aria-label={words.templates.preview.title}>
        {shownTemplate ? (
          <RecipientPreview
            template={shownTemplate}
            params={previewed ? undefined : sampleValues}
            samples={previewed ? [] : (preview?.samples ?? [])}
          />
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
          from={from}
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
          hasBrokenImage={hasBrokenImage}
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
          title={(draft.isLater ? text.confirmSchedule : text.confirmSend)(draft.name)}
          action={action}
          busy={isFlushing || sending.some(({ isPending }) => isPending)}
          error={sendError ? (serverErrors.draft ?? describeError(sendError)) : undefined}
          onConfirm={() => void send(body)}
          onClose={() => setConfirming(false)}
        >
          <div className="stack">
            <Facts
              facts={{
                [text.confirmFacts.from]: sender && senders.length > 1 && describeConnection(sender),
                [text.confirmFacts.audience]: audience,
                [text.confirmFacts.recipients]: formatNumber(count),
                [text.confirmFacts.time]: draft.isLater ? formatTime(draft.at) : text.now,
                [text.confirmFacts.template]: chosen?.name,
              }}
            />
            {preview.total > count && <p className="soft">{text.left(preview.total - count)}</p>}
            {hasBrokenImage && <Note tone="amber">{text.imageBroken}</Note>}
            <p>{draft.isLater ? text.confirmLater : text.confirmText}</p>
          </div>
        </Confirm>
      )}
    </div>
  )
}

const refOf = ({ name, language }: Template) => ({ name, language })

function DiscardDraft({ id, onDiscard }: { id: string; onDiscard: () => void }) {
  const [, navigate] = useLocation()
  return (
    <ConfirmButton
      button={<Button label={text.discard} variant="quiet" icon="trash" />}
      title={text.discardTitle}
      text={text.discardText}
      action={text.discard}
      danger
      call="DELETE /broadcasts/{id}"
      input={{ params: { id } }}
      stale={['GET /broadcasts']}
      done={text.discarded}
      onDone={() => {
        onDiscard()
        navigate('/broadcasts', { replace: true })
      }}
    />
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
