/**
 * Connecting a channel, step by step: what it needs and where that is found,
 * storing it, telling the provider where to report to, and a check that tries
 * everything and says beside the field what is wrong with it.
 *
 * A connection to the simulator is replaced here by a real one: its ids and
 * secrets are of no use then, so the fields begin empty.
 */
import { type ReactNode, type Ref, useRef, useState } from 'react'
import { Button } from '../../../ui/button.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { Note } from '../../../ui/note.tsx'
import { useToast } from '../../../ui/toast.tsx'
import { useCall, useChange } from '../lib/api.ts'
import { faultsOf } from '../lib/faults.ts'
import { Asked, Page } from '../ui/page.tsx'
import { words } from '../words/words.ts'
import { ChannelCallback } from './channel-callback.tsx'
import { CheckSteps } from './channel-check.tsx'
import { ChannelFields, type FieldName, fieldNames, type Settings } from './channel-fields.tsx'
import { ChannelPace } from './channel-pace.tsx'
import type { Connection, ProvidedChannel } from './channels.tsx'

const { channels } = words.settings
const { guide } = channels

export function ChannelGuide({ channel }: { channel: ProvidedChannel }) {
  // The provider's first call is made while somebody looks at this page.
  const asked = useCall('GET /channels', {}, { everyMs: 5_000 })
  return (
    <Page
      title={guide.titles[channel]}
      lead={guide.lead}
      back={{ href: '/settings/channels', label: channels.title }}
      narrow
    >
      <Asked query={asked}>
        {(all) => <Guide channel={channel} connection={all.find((each) => each.channel === channel)} />}
      </Asked>
    </Page>
  )
}

function Guide({ channel, connection }: { channel: ProvidedChannel; connection: Connection | undefined }) {
  const toast = useToast()
  const form = useRef<HTMLFormElement>(null)
  const callback = useRef<HTMLLIElement>(null)
  const [isSaved, setSaved] = useState(connection !== undefined && !connection.simulator)
  // A new form after each save: what was typed into secret fields is gone from the page.
  const [round, setRound] = useState(0)
  const check = useChange('POST /channels/{id}/check', { stale: ['GET /channels'], onFailed: toast.failed })
  const save = useChange('PUT /channels/{channel}', {
    stale: ['GET /channels'],
    onDone: ({ id }) => {
      toast.done(words.common.saved)
      setSaved(true)
      setRound(round + 1)
      // Whoever mends what a check found wants to know whether it is mended.
      if (check.data) check.mutate({ params: { id } })
      else callback.current?.scrollIntoView({ behavior: 'smooth', block: 'start' })
    },
  })
  const stored = isSaved ? connection : undefined
  const wrong = check.data?.steps.find(({ ok }) => !ok)
  const wrongField = fieldNames.find((name) => name === wrong?.field)
  const faults = faultsOf(save.error, fieldNames)
  if (wrong && wrongField && !save.error) faults[wrongField] = wrong.message
  const mend = (name: FieldName) => {
    const input = form.current?.elements.namedItem(name)
    if (!(input instanceof HTMLElement)) return
    input.closest('details')?.setAttribute('open', '')
    input.focus()
  }
  const isConnected = check.data ? check.data.state === 'connected' : stored?.state === 'connected'
  const isHeard = Boolean(stored?.callback_verified_at ?? stored?.callback_received_at)
  return (
    <>
      {connection?.simulator && !isSaved && <Note icon="bolt">{guide.replaces}</Note>}
      <ol className="settings-steps">
        <Step number={1} title={guide.needs} isDone={stored !== undefined}>
          <p className="soft">{guide.needsTexts[channel]}</p>
          <ChannelFields
            key={round}
            channel={channel}
            stored={stored}
            faults={faults}
            busy={save.isPending}
            form={form}
            action={stored ? guide.saveAgain : guide.save}
            onSave={(body: Settings) => save.mutate({ params: { channel }, body })}
          />
        </Step>
        <Step number={2} title={guide.callback} isDone={isHeard} ref={callback} locked={!stored}>
          {stored && <ChannelCallback of={stored} channel={channel} />}
        </Step>
        <Step number={3} title={guide.check} isDone={isConnected} locked={!stored}>
          {stored && (
            <>
              <p className="soft">{guide.checkText}</p>
              {!check.data && stored.last_error && (
                <Note tone="red" icon="alert">
                  {stored.last_error}
                </Note>
              )}
              {check.data && <CheckSteps steps={check.data.steps} onMend={mend} />}
              {check.data?.state === 'connected' && (
                <Note tone="green" icon="check">
                  {guide.works}
                </Note>
              )}
              <div className="row">
                <Button
                  icon="refresh"
                  {...(isConnected ? {} : { variant: 'primary' as const })}
                  busy={check.isPending}
                  onClick={() => check.mutate({ params: { id: stored.id } })}
                >
                  {check.data || stored.checked_at ? channels.checkAgain : guide.checkNow}
                </Button>
              </div>
            </>
          )}
        </Step>
      </ol>
      {stored && <ChannelPace of={stored} />}
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
          <span className="settings-step-mark" data-done={isDone ? '' : undefined} aria-hidden="true">
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
