/**
 * Connects a number or a social account in three steps: credentials, callback and connection check. A failed check is shown at the
 * field that caused it.
 *
 * A connection to the simulator is replaced by a real one, so its ids and secrets are not filled in.
 */
import { type ReactNode, type Ref, useRef, useState } from 'react'
import { Button, Field, Form, Input } from '../../../ui/controls.tsx'
import { Card, Note, Secret } from '../../../ui/display.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { Confirm } from '../../../ui/overlays.tsx'
import { useCall, useChange } from '../lib/api.ts'
import type { Connection } from '../lib/connections.ts'
import { fieldErrorsOf } from '../lib/field-errors.ts'
import { LeaveGuard } from '../ui/leave-guard.tsx'
import { Page, QueryView } from '../ui/page.tsx'
import { RelativeTime } from '../ui/time.tsx'
import { settingsWords } from '../words/settings.ts'
import { words } from '../words/words.ts'
import { CheckSteps } from './channel-check.tsx'
import { ChannelFields, type FieldName, fieldNames, type Settings } from './channel-fields.tsx'
import type { ProviderChannel } from './connection.ts'

const { channels } = settingsWords
const { guide } = channels

type SetupProps = {
  channel: ProviderChannel
  /** The connection with new settings. Without it: the default one of the channel, which may not exist yet. */
  id?: string
  /** Connects another one. */
  isAnother?: boolean
}

export function ChannelSetup({ channel, id, isAnother = false }: SetupProps) {
  // Polls, because the provider's first callback arrives while this page is open.
  const query = useCall('GET /channels', {}, { pollMs: 5_000 })
  // Another one, after it was saved.
  const [createdId, setCreatedId] = useState<string>()
  const find = (all: readonly Connection[]) =>
    isAnother || id
      ? all.find((each) => each.id === (id ?? createdId))
      : all.find((each) => each.channel === channel && each.is_default)
  const name = id ? query.data?.find((each) => each.id === id)?.name : undefined
  return (
    <Page
      title={isAnother ? channels.another[channel] : (name ?? guide.titles[channel])}
      lead={guide.lead}
      back={{ href: '/settings/channels', label: channels.title }}
      narrow
    >
      {isAnother && <p className="soft">{channels.anotherTexts[channel]}</p>}
      <QueryView query={query}>
        {(all) => (
          <SetupSteps
            channel={channel}
            connection={find(all)}
            hasOthers={all.some((each) => each.channel === channel && each.id !== find(all)?.id)}
            isById={id !== undefined}
            isAnother={isAnother}
            onCreated={setCreatedId}
          />
        )}
      </QueryView>
    </Page>
  )
}

type StepsProps = {
  channel: ProviderChannel
  connection: Connection | undefined
  /** The channel has other connections. */
  hasOthers: boolean
  isById: boolean
  isAnother: boolean
  onCreated: (id: string) => void
}

function SetupSteps({ channel, connection, hasOthers, isById, isAnother, onCreated }: StepsProps) {
  const form = useRef<HTMLFormElement>(null)
  const callback = useRef<HTMLLIElement>(null)
  const [isSaved, setSaved] = useState(connection !== undefined && !connection.simulator)
  // Each save mounts a new form, which removes typed secrets from the page.
  const [formVersion, setFormVersion] = useState(0)
  const check = useChange('POST /channels/{id}/check', { stale: ['GET /channels'], reportsError: true })
  const saving = {
    stale: ['GET /channels'],
    done: words.common.saved,
    onDone: ({ id }: { id: string }) => {
      onCreated(id)
      setSaved(true)
      setFormVersion(formVersion + 1)
      if (!check.data) callback.current?.scrollIntoView({ behavior: 'smooth', block: 'start' })
      // It also reads the address from the provider.
      check.mutate({ params: { id } })
    },
  } as const
  const stored = isSaved ? connection : undefined
  const replace = useChange('PUT /channels/{channel}', saving)
  const create = useChange('POST /channels', saving)
  const change = useChange('PATCH /channels/{id}', saving)
  // New secrets of a connection that works, until the member has confirmed them.
  const [unconfirmed, setUnconfirmed] = useState<Settings>()
  const save = (body: Settings) => {
    const isReplacing = isById && stored !== undefined && Boolean(body.access_token || body.app_secret)
    if (isReplacing && body !== unconfirmed) return setUnconfirmed(body)
    setUnconfirmed(undefined)
    if (connection && (isById || isAnother)) change.mutate({ params: { id: connection.id }, body })
    else if (isAnother) create.mutate({ body: { channel, ...body } })
    else replace.mutate({ params: { channel }, body })
  }
  const saveError = replace.error ?? create.error ?? change.error
  const failedStep = check.data?.steps.find(({ ok }) => !ok)
  const failedField = fieldNames.find((name) => name === failedStep?.field)
  const errors = fieldErrorsOf(saveError, [...fieldNames, 'name'])
  if (failedStep && failedField && !saveError) errors[failedField] = failedStep.message
  const focusField = (name: FieldName) => {
    const input = form.current?.elements.namedItem(name)
    if (!(input instanceof HTMLElement)) return
    input.closest('details')?.setAttribute('open', '')
    input.focus()
  }
  const isConnected = check.data ? check.data.state === 'connected' : stored?.state === 'connected'
  const isCallbackSeen = Boolean(stored?.callback_verified_at ?? stored?.callback_received_at)
  return (
    <>
      {connection?.simulator && !isSaved && <Note icon="bolt">{guide.replaces}</Note>}
      <ol className="stack">
        <Step number={1} title={guide.needs} isDone={stored !== undefined}>
          <p className="soft">{guide.needsTexts[channel]}</p>
          <ChannelFields
            key={formVersion}
            channel={channel}
            stored={stored}
            isAnother={isAnother}
            errors={errors}
            busy={replace.isPending || create.isPending || change.isPending}
            form={form}
            action={stored ? guide.saveAgain : guide.save}
            onSave={save}
          />
        </Step>
        <Step number={2} title={guide.callback} isDone={isCallbackSeen} ref={callback} locked={!stored}>
          {stored && <ChannelCallback connection={stored} channel={channel} hasOthers={hasOthers} />}
        </Step>
        <Step number={3} title={guide.check} isDone={isConnected} locked={!stored}>
          {stored && (
            <>
              <p className="soft">{guide.checkText}</p>
              {!check.data && stored.last_error && <Note tone="red">{stored.last_error}</Note>}
              {check.data && <CheckSteps steps={check.data.steps} onFix={focusField} />}
              {check.data?.state === 'connected' && <Note tone="green">{guide.works}</Note>}
              <div className="row">
                <Button
                  label={check.data || stored.checked_at ? channels.checkAgain : guide.checkNow}
                  icon="refresh"
                  variant={isConnected ? undefined : 'primary'}
                  busy={check.isPending}
                  onClick={() => check.mutate({ params: { id: stored.id } })}
                />
              </div>
            </>
          )}
        </Step>
      </ol>
      {stored && <SendingRate connection={stored} />}
      {stored && unconfirmed && (
        <Confirm
          title={guide.replaceTitle(stored.name)}
          action={guide.replace}
          onConfirm={() => save(unconfirmed)}
          onClose={() => setUnconfirmed(undefined)}
        >
          <p>{guide.replaceText}</p>
        </Confirm>
      )}
    </>
  )
}

type StepProps = {
  number: number
  title: string
  isDone: boolean
  locked?: boolean
  ref?: Ref<HTMLLIElement>
  children: ReactNode
}

function Step({ number, title, isDone, locked = false, ref, children }: StepProps) {
  return (
    <li className="card settings-step" ref={ref} data-locked={locked ? '' : undefined}>
      <div className="card-head">
        <h2>
          <span className="mark settings-step-mark small" data-done={isDone ? '' : undefined} aria-hidden="true">
            {isDone ? <Icon name="check" /> : number}
          </span>
          {title}
        </h2>
        {locked && <span className="soft small">{guide.locked}</span>}
      </div>
      {!locked && <div className="card-body">{children}</div>}
    </li>
  )
}

/** The maximum rate at which broadcasts are sent from a number. */
function SendingRate({ connection: { id, messages_per_second: stored } }: { connection: Connection }) {
  const [rate, setRate] = useState(String(stored))
  const save = useChange('PATCH /channels/{id}', { stale: ['GET /channels'], done: words.common.saved })
  const errors = fieldErrorsOf(save.error, ['messages_per_second'])
  const isChanged = Number(rate) !== stored
  const submit = () => save.mutate({ params: { id }, body: { messages_per_second: Number(rate) } })
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
              <Button label={words.common.save} type="submit" busy={save.isPending} disabled={!isChanged} />
            </div>
          )}
        </Field>
        <LeaveGuard isChanged={isChanged && !save.isPending} />
      </Form>
    </Card>
  )
}

/** The callback fields that the service reads. */
const subscriptions: Record<ProviderChannel, readonly string[]> = {
  msgapp: [
    'messages',
    'calls',
    'user_preferences',
    'smb_message_echoes',
    'account_update',
    'account_alerts',
    'account_review_update',
    'phone_number_quality_update',
    'phone_number_name_update',
    'message_template_status_update',
    'message_template_quality_update',
    'template_category_update',
  ],
  social: [
    'messages',
    'messaging_postbacks',
    'message_reactions',
    'message_edit',
    'messaging_referral',
    'messaging_seen',
  ],
}

type CallbackProps = { connection: Connection; channel: ProviderChannel; hasOthers: boolean }

/** Step 2 of connecting a channel: the callback URL and verify token for the provider's console, and the callback status. */
function ChannelCallback({ connection, channel, hasOthers }: CallbackProps) {
  const { callback_url, verify_token } = connection
  return (
    <>
      <CallbackStatus connection={connection} />
      {hasOthers && <Note tone="amber">{guide.override[channel]}</Note>}
      <ol className="stack settings-how">
        {guide.callbackSteps[channel].map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ol>
      <CopyField label={guide.callbackUrl} copy={guide.copyCallbackUrl} text={callback_url ?? ''} />
      <CopyField label={guide.verifyToken} copy={guide.copyVerifyToken} text={verify_token ?? ''} />
      <div>
        <p className="settings-label">{guide.subscribe}</p>
        <ul className="code-list">
          {subscriptions[channel].map((name) => (
            <li key={name}>
              <code>{name}</code>
            </li>
          ))}
        </ul>
      </div>
      {!callback_url?.startsWith('https://') && <Note tone="amber">{guide.notPublic}</Note>}
    </>
  )
}

/** Whether the provider has verified the callback URL and sent callbacks. */
function CallbackStatus({ connection }: { connection: Connection }) {
  const { callback_verified_at: verified, callback_received_at: received } = connection
  if (received) {
    return (
      <Note tone="green">
        {guide.received} <RelativeTime at={received} />
      </Note>
    )
  }
  return verified ? (
    <Note icon="check">
      {guide.verified} <RelativeTime at={verified} />. {guide.nothingReceived}
    </Note>
  ) : (
    <Note icon="clock">{guide.notVerified}</Note>
  )
}

const CopyField = ({ label, copy, text }: { label: string; copy: string; text: string }) => (
  <div>
    <p className="settings-label">{label}</p>
    <Secret text={text} label={copy} />
  </div>
)
