/**
 * The phone beside the editor of an automation: its draft runs on a simulated phone, through callbacks, engine and sends.
 *
 * The service ends a preview that is not used for 30 minutes. While the panel shows one, it polls: the events of the hidden workspace in
 * which a preview runs do not reach the stream of this one.
 */
import { type ReactNode, type Ref, useRef, useState } from 'react'
import { Button, Form, IconButton, Input } from '../../../ui/controls.tsx'
import { EmptyState, Note } from '../../../ui/display.tsx'
import { type DataOf, queryClient, useCall, useChange } from '../lib/api.ts'
import { formatTime } from '../lib/time.ts'
import { QueryView } from '../ui/page.tsx'
import { automationPhoneWords as texts } from '../words/automation-phone.ts'
import { describeLogged, loggedSteps, toCallError } from './logged.ts'
import './phone.css'
import { Chat, type Tap } from './phone-chat.tsx'

const pollMs = 1_000

type Preview = DataOf<'GET /automations/{id}/preview'>
type Calls =
  | 'POST /automations/{id}/preview'
  | 'POST /automations/{id}/preview/messages'
  | 'POST /automations/{id}/preview/start'
  | 'POST /automations/{id}/preview/skip'

const inputOf = (automationId: string) => ({ params: { id: automationId } })

/** A call that returns the preview as it is now. */
function usePreviewChange<Call extends Calls>(name: Call, automationId: string) {
  return useChange(name, {
    reportsError: true,
    inOrderFor: `preview ${automationId}`,
    onDone: (data) => {
      const queryKey = ['GET /automations/{id}/preview', inputOf(automationId)]
      // A poll that is in flight may be older.
      void queryClient.cancelQueries({ queryKey }).then(() => queryClient.setQueryData(queryKey, data))
    },
  })
}

/** `hasSteps`: the editor shows steps, whether they are saved or not. */
export function Phone({ automationId, hasSteps }: { automationId: string; hasSteps: boolean }) {
  const query = useCall('GET /automations/{id}/preview', inputOf(automationId))
  const [isStarted, setStarted] = useState(false)
  return (
    <section className="phone" aria-label={texts.title}>
      <QueryView query={query} lines={4}>
        {(preview) =>
          preview.ends_at ? (
            <OpenPhone {...{ automationId, isStarted }} />
          ) : (
            <ClosedPhone {...{ preview, automationId, hasSteps }} onStart={() => setStarted(true)} />
          )
        }
      </QueryView>
    </section>
  )
}

type ClosedProps = { preview: Preview; automationId: string; hasSteps: boolean; onStart: () => void }

function ClosedPhone({ preview, automationId, hasSteps, onStart }: ClosedProps) {
  const open = usePreviewChange('POST /automations/{id}/preview', automationId)
  if (!preview.is_available) return <EmptyState icon="off" title={texts.unavailable} text={texts.unavailableText} />
  if (!preview.trigger) {
    // The service stores only complete definitions.
    return hasSteps ? (
      <EmptyState icon="phone" title={texts.incomplete} text={texts.incompleteText} />
    ) : (
      <EmptyState icon="phone" title={texts.empty} text={texts.emptyText} />
    )
  }
  const action = (
    <Button
      label={texts.open}
      variant="primary"
      icon="play"
      busy={open.isPending}
      onClick={() => {
        onStart()
        open.mutate(inputOf(automationId))
      }}
    />
  )
  return <EmptyState icon="phone" title={texts.title} text={texts.lead} action={action} />
}

/** `isStarted`: by this member, on this page. */
function OpenPhone({ automationId, isStarted }: { automationId: string; isStarted: boolean }) {
  const { data: preview } = useCall('GET /automations/{id}/preview', inputOf(automationId), { pollMs })
  const restart = usePreviewChange('POST /automations/{id}/preview', automationId)
  const write = usePreviewChange('POST /automations/{id}/preview/messages', automationId)
  const field = useRef<HTMLInputElement>(null)
  // The pressed button disappears or is disabled, and the focus would be lost.
  const focusField = () => field.current?.focus({ preventScroll: true })
  const tap: Tap = (button) => {
    focusField()
    write.mutate({ ...inputOf(automationId), body: { button } })
  }
  if (!preview) return null
  return (
    <>
      <header className="line phone-head">
        <h2>{texts.title}</h2>
        <Button
          label={texts.restart}
          size="small"
          icon="refresh"
          title={texts.restartHint}
          busy={restart.isPending}
          onClick={() => {
            focusField()
            restart.mutate(inputOf(automationId))
          }}
        />
      </header>
      <Chat messages={preview.messages} onTap={tap} isBusy={write.isPending} />
      <Progress preview={preview} automationId={automationId} onPress={focusField} />
      <Composer
        field={field}
        hasFocus={isStarted}
        isBusy={write.isPending}
        onSend={(text) => write.mutateAsync({ ...inputOf(automationId), body: { text } })}
      />
      {preview.has_calls && <Note icon="link">{texts.calls}</Note>}
      <Log run={preview.run} />
    </>
  )
}

type ProgressProps = { preview: Preview; automationId: string; onPress: () => void }

/** What the automation does now, and how to go on. */
function Progress({ preview, automationId, onPress }: ProgressProps) {
  const start = usePreviewChange('POST /automations/{id}/preview/start', automationId)
  const skip = usePreviewChange('POST /automations/{id}/preview/skip', automationId)
  const { run, waits_for: waitsFor, trigger, open_runs: openRuns } = preview
  const label = trigger && texts.start(trigger)
  const others = openRuns - (run && run.state !== 'ended' ? 1 : 0)
  return (
    <div className="stack phone-progress">
      <p role="status">
        {describeProgress(preview)}
        {others > 0 && <span className="soft"> {texts.others(others)}</span>}
      </p>
      <div className="row">
        {waitsFor && (
          <Button
            label={waitsFor === 'answer' ? texts.skipAnswer : texts.skip}
            size="small"
            icon="clock"
            busy={skip.isPending}
            onClick={() => {
              onPress()
              skip.mutate(inputOf(automationId))
            }}
          />
        )}
        {label && (
          <Button
            label={label}
            size="small"
            icon="bolt"
            busy={start.isPending}
            onClick={() => {
              onPress()
              start.mutate(inputOf(automationId))
            }}
          />
        )}
      </div>
    </div>
  )
}

function describeProgress({ run, waits_for: waitsFor, messages, trigger }: Preview): ReactNode {
  if (!run) {
    if (trigger && texts.start(trigger)) return texts.startHint
    return messages.length > 0 ? texts.notStarted : texts.hint
  }
  if (run.state === 'ended') {
    return (
      <>
        {texts.ended(run.reason)}
        {run.error && `: ${run.error}`}
      </>
    )
  }
  if (waitsFor === 'answer') {
    const question = messages.findLast(({ direction }) => direction === 'outbound')?.content_text
    return question ? texts.answer(question) : texts.anyAnswer
  }
  if (waitsFor === 'time' && run.due_at) {
    const last = run.steps.at(-1)
    const until = formatTime(run.due_at)
    return last?.type === 'call' && last.reason ? texts.callFailed(toCallError(last.reason), until) : texts.until(until)
  }
  return texts.running
}

type ComposerProps = {
  isBusy: boolean
  field: Ref<HTMLInputElement>
  hasFocus: boolean
  onSend: (text: string) => Promise<unknown>
}

function Composer({ isBusy, field, hasFocus, onSend }: ComposerProps) {
  const [text, setText] = useState('')
  const send = async () => {
    const written = text.trim()
    if (!written || isBusy) return
    setText('')
    // The text of a message that was not stored is not lost.
    await onSend(written).catch(() => setText((now) => now || written))
  }
  return (
    <Form className="line phone-composer" onSubmit={() => void send()}>
      <Input
        ref={field}
        autoFocus={hasFocus}
        value={text}
        maxLength={4_096}
        aria-label={texts.write}
        placeholder={texts.write}
        autoComplete="off"
        onChange={({ target }) => setText(target.value)}
      />
      <IconButton type="submit" label={texts.send} icon="send" variant="primary" size="medium" busy={isBusy} />
    </Form>
  )
}

/** Each step with its outcome: also what the customer does not see, such as notes and labels. */
function Log({ run }: Pick<Preview, 'run'>) {
  if (!run || run.steps.length === 0) return null
  return (
    <details className="phone-log small">
      <summary>{texts.log}</summary>
      <ol>
        {loggedSteps(run).map((step) => {
          const { title, parts } = describeLogged(run, step)
          return (
            <li key={step.id}>
              {title} <span className="soft">{parts.join(' · ')}</span>
            </li>
          )
        })}
      </ol>
    </details>
  )
}
