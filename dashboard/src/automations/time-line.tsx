/** The time line of a run: what started it, what each step did, and how it ended or for what it waits. */
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { Code } from '../../../ui/display.tsx'
import { Icon, type IconName } from '../../../ui/icon.tsx'
import { formatTime } from '../lib/time.ts'
import { Time } from '../ui/time.tsx'
import { prettyJson } from '../webhooks/pretty-json.ts'
import { automationWords } from '../words/automations.ts'
import { findStep, titleOfChoice } from './definition.ts'
import { describeStart } from './describe.ts'
import { describeLogged, type LoggedStep, loggedSteps } from './logged.ts'
import { type RunDetail, toSentence } from './run-state.tsx'

const { runs } = automationWords
const { page: text } = runs

export function TimeLine({ run }: { run: RunDetail }) {
  return (
    <ol className="automations-line">
      <Entry icon="play" title={describeStart(run.definition)} at={run.started_at}>
        <Outcome run={run} messageId={run.message_id} parts={[text.start]} />
      </Entry>
      {loggedSteps(run).map((step) => (
        <StepEntry key={step.id} run={run} step={step} />
      ))}
      <Last run={run} />
    </ol>
  )
}

type Tone = 'red' | 'amber' | 'green' | undefined
type EntryProps = { icon: IconName; tone?: Tone; title: ReactNode; at: string | null; children?: ReactNode }

const Entry = ({ icon, tone, title, at, children }: EntryProps) => (
  <li className="automations-entry" data-tone={tone}>
    <span className="automations-dot">
      <Icon name={icon} />
    </span>
    <div className="automations-entry-head">
      <strong>{title}</strong>
      {at && (
        <span className="soft small numeric">
          <Time at={at} format={formatExactClock} />
        </span>
      )}
    </div>
    <div className="stack automations-entry-body">{children}</div>
  </li>
)

type OutcomeProps = { run: RunDetail; messageId?: string | null; tone?: Tone; parts: readonly string[] }

/** The outcome and its reason, with a link to the message in the conversation. */
function Outcome({ run: { conversation_id }, messageId = null, tone, parts }: OutcomeProps) {
  const shown = parts.filter(Boolean).join(' · ')
  return (
    <p className="small automations-outcome" data-tone={tone}>
      {shown}
      {messageId && conversation_id && (
        <>
          {shown && ' · '}
          <Link href={`/inbox/${conversation_id}?message=${messageId}`}>{text.showMessage}</Link>
        </>
      )}
    </p>
  )
}

const icons: Record<string, IconName> = {
  send: 'send',
  ask: 'chat',
  branch: 'automations',
  wait: 'clock',
  set: 'tag',
  note: 'note',
  call: 'webhooks',
  hand_over: 'contacts',
  end: 'check',
}

const tones: Partial<Record<LoggedStep['outcome'], Tone>> = {
  failed: 'red',
  stopped: 'amber',
  unknown: 'amber',
  repeated: 'amber',
}

function StepEntry({ run, step: logged }: { run: RunDetail; step: LoggedStep }) {
  const { type, path, outcome, input, message_id, created_at } = logged
  const { title, parts } = describeLogged(run, logged)
  return (
    <Entry
      icon={outcome === 'answered' ? 'reply' : (icons[type] ?? 'check')}
      tone={tones[outcome]}
      title={title}
      at={created_at}
    >
      <Outcome run={run} messageId={message_id} tone={tones[outcome]} parts={parts} />
      {input != null && (
        <Input type={type} input={input} title={titleOfChoice(findStep(run.definition, path), input)} />
      )}
    </Entry>
  )
}

/** What the step got: the answer of the customer, or the response of a URL. */
function Input({ type, input, title }: { type: string; input: unknown; title: string | undefined }) {
  if (type === 'call') return <Response input={input} />
  const value = typeof input === 'object' ? JSON.stringify(input) : String(input)
  return (
    <blockquote className="automations-answer" dir="auto">
      {title ?? value}
    </blockquote>
  )
}

function Response({ input }: { input: unknown }) {
  const { status, response } = input as { status?: number | null; response?: string | null }
  return (
    <details className="automations-response small">
      <summary>{status ? text.responseOf(status) : text.noResponse}</summary>
      {response && <Code text={prettyJson(response)} />}
    </details>
  )
}

/** How the run ended, or for what it waits. */
function Last({ run }: { run: RunDetail }) {
  const { state, reason, error, ended_at, ended_by } = run
  if (state !== 'ended') {
    return (
      <Entry icon="clock" title={waitText(run)} at={null}>
        {null}
      </Entry>
    )
  }
  const isFailed = reason === 'failed' || reason?.startsWith('limit_')
  const byPerson = reason === 'person' ? (ended_by ? text.byMember(ended_by) : text.byPerson) : ''
  const explained = error ? toSentence(error) : byPerson || (reason ? text.explained[reason] : '')
  return (
    <Entry
      icon={isFailed ? 'alert' : reason === 'finished' || reason === 'handed_over' ? 'check' : 'stop'}
      tone={isFailed ? 'red' : reason === 'finished' ? 'green' : undefined}
      title={reason ? runs.reasons[reason] : text.ended}
      at={ended_at}
    >
      {explained && <Outcome run={run} parts={[explained]} />}
    </Entry>
  )
}

function waitText({ state, due_at, steps }: RunDetail): string {
  const last = steps.at(-1)
  if (state === 'running' || !due_at) return text.continues
  return last?.type === 'ask' ? text.waitsForAnswer(formatTime(due_at)) : text.waitsUntil(formatTime(due_at))
}

const exactClock = new Intl.DateTimeFormat(undefined, { hour: 'numeric', minute: '2-digit', second: '2-digit' })
const exactDay = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })

/** Steps of one run are often seconds apart. */
const formatExactClock = (at: string): string =>
  (new Date(at).toDateString() === new Date().toDateString() ? exactClock : exactDay).format(new Date(at))
