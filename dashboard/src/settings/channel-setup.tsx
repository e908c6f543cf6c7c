/**
 * Connects a channel in three steps: credentials, callback and connection check. A failed check is shown at the field that
 * caused it.
 *
 * A connection to the simulator is replaced by a real one, so its ids and secrets are not filled in.
 */
import { type ReactNode, type Ref, useRef, useState } from 'react'
import { Button } from '../../../ui/controls.tsx'
import { Note } from '../../../ui/display.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { useCall, useChange } from '../lib/api.ts'
import { fieldErrorsOf } from '../lib/field-errors.ts'
import { Page, QueryView } from '../ui/page.tsx'
import { words } from '../words/words.ts'
import { ChannelCallback } from './channel-callback.tsx'
import { CheckSteps } from './channel-check.tsx'
import { ChannelFields, type FieldName, fieldNames, type Settings } from './channel-fields.tsx'
import { SendingRate } from './channel-rate.tsx'
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
          <span className="mark settings-step-mark" data-done={isDone ? '' : undefined} aria-hidden="true">
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
