/**
 * Connects a channel in three steps: credentials, callback and connection check. A failed check is shown at the field that
 * caused it.
 *
 * A connection to the simulator is replaced by a real one, so its ids and secrets are not filled in.
 */
import { type ReactNode, type Ref, useRef, useState } from 'react'
import { Button, Field, Form, Input } from '../../../ui/controls.tsx'
import { Card, Note, Secret } from '../../../ui/display.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { useCall, useChange } from '../lib/api.ts'
import { fieldErrorsOf } from '../lib/field-errors.ts'
import { Page, QueryView } from '../ui/page.tsx'
import { RelativeTime } from '../ui/time.tsx'
import { words } from '../words/words.ts'
import { CheckSteps } from './channel-check.tsx'
import { ChannelFields, type FieldName, fieldNames, type Settings } from './channel-fields.tsx'
import type { Connection, ProviderChannel } from './connection.ts'

const { channels } = words.settings
const { guide } = channels

export function ChannelSetup({ channel }: { channel: ProviderChannel }) {
  // Polls, because the provider's first callback arrives while this page is open.
  const query = useCall('GET /channels', {}, { pollMs: 5_000 })
  return (
    <Page
      title={guide.titles[channel]}
      lead={guide.lead}
      back={{ href: '/settings/channels', label: channels.title }}
      narrow
    >
      <QueryView query={query}>
        {(all) => <SetupSteps channel={channel} connection={all.find((each) => each.channel === channel)} />}
      </QueryView>
    </Page>
  )
}

function SetupSteps({ channel, connection }: { channel: ProviderChannel; connection: Connection | undefined }) {
  const form = useRef<HTMLFormElement>(null)
  const callback = useRef<HTMLLIElement>(null)
  const [isSaved, setSaved] = useState(connection !== undefined && !connection.simulator)
  // Each save mounts a new form, which removes typed secrets from the page.
  const [formVersion, setFormVersion] = useState(0)
  const check = useChange('POST /channels/{id}/check', { stale: ['GET /channels'], reportsError: true })
  const save = useChange('PUT /channels/{channel}', {
    stale: ['GET /channels'],
    done: words.common.saved,
    onDone: ({ id }) => {
      setSaved(true)
      setFormVersion(formVersion + 1)
      // After a fix, repeats the check that found the problem.
      if (check.data) check.mutate({ params: { id } })
      else callback.current?.scrollIntoView({ behavior: 'smooth', block: 'start' })
    },
  })
  const stored = isSaved ? connection : undefined
  const failedStep = check.data?.steps.find(({ ok }) => !ok)
  const failedField = fieldNames.find((name) => name === failedStep?.field)
  const errors = fieldErrorsOf(save.error, fieldNames)
  if (failedStep && failedField && !save.error) errors[failedField] = failedStep.message
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
            errors={errors}
            busy={save.isPending}
            form={form}
            action={stored ? guide.saveAgain : guide.save}
            onSave={(body: Settings) => save.mutate({ params: { channel }, body })}
          />
        </Step>
        <Step number={2} title={guide.callback} isDone={isCallbackSeen} ref={callback} locked={!stored}>
          {stored && <ChannelCallback connection={stored} channel={channel} />}
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

/** The maximum rate at which broadcasts are sent on a channel. */
function SendingRate({ connection: { channel, messages_per_second: stored } }: { connection: Connection }) {
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

type CallbackProps = { connection: Connection; channel: ProviderChannel }

/** Step 2 of connecting a channel: the callback URL and verify token for the provider's console, and the callback status. */
function ChannelCallback({ connection, channel }: CallbackProps) {
  const { callback_url, verify_token } = connection
  return (
    <>
      <CallbackStatus connection={connection} />
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
