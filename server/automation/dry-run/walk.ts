/**
 * Walks the steps of a simulated run until it waits or ends. Pure: nothing is sent or changed, and the time is that of the past.
 *
 * It mirrors `advance.ts`, `ask.ts`, `send-message.ts` and `set.ts` with the decisions that they share (`decisions.ts`).
 */
import type { Channel } from '../../channels/channel.ts'
import { requireAttributes } from '../../contacts/attributes.ts'
import type { ChannelName } from '../../contacts/resource.ts'
import { fold } from '../../lib/text.ts'
import { requireSendable, requireWindow } from '../../messages/sending/check.ts'
import { readRequestedContent } from '../../messages/sending/requested-content.ts'
import type { ValuedContact } from '../../messages/sending/values.ts'
import {
  chooseCase,
  describeHandOver,
  enterOnError,
  enterTimeout,
  type Failure,
  hourMs,
  inputOf,
  joinReplies,
  judgeReply,
  maxReplies,
  positionAfter,
  reactionType,
  requireFewMessages,
  requireText,
  StepFailed,
  timeoutMsOf,
  toFailure,
} from '../decisions.ts'
import {
  type Answers,
  type AskStep,
  type CallStep,
  type Definition,
  type Message,
  readSaveAs,
  type SetStep,
  type Step,
  type WaitStep,
} from '../definition.ts'
import { toMs } from '../durations.ts'
import { msUntilOpening } from '../office-hours.ts'
import { describeMessage, findStep, type PlacedStep } from '../steps.ts'
import { fillMessage, type TextValues } from '../texts.ts'
import { assign, describeAssignment } from './assignment.ts'
import { type ContactChanges, isMet, type Situation } from './conditions.ts'
import type { DryRunReason, DryRunStep } from './resource.ts'
import { changeLabels, type PastMessage, setStatus, type ThreadState } from './state.ts'

export type SimulatedRun = {
  message: PastMessage | undefined
  depth: number
  startedMs: number
  endedMs: number | null
  reason: DryRunReason | null
  error: string | null
  position: string
  variables: Answers
  tries: number
  askedMs: number | null
  timeoutMs: number | null
  /** When it goes on; null: it is not waiting. */
  dueMs: number | null
  sentCount: number
  steps: DryRunStep[]
}

/** What the runs of a conversation share. */
export type Scene = {
  definition: Definition
  channels: Record<ChannelName, Pick<Channel, 'windowMs' | 'lateWindowMs'>>
  memberNames: ReadonlyMap<string, string>
  teamNames: ReadonlyMap<string, string>
  contact: ValuedContact
  /** Undefined: the contact has no conversation. */
  channel: ChannelName | undefined
  state: ThreadState
  changes: ContactChanges
  facts: Situation['facts']
  names: Situation['names']
  schedule: Situation['schedule']
  /** The customer's messages so far. */
  received: PastMessage[]
  /** The end of the snooze that a simulated run has set. */
  snoozedMs: number | null
  /** When simulated runs have sent. */
  sentMs: number[]
  /** The state of the conversation changed: its events may start the automation again. */
  onChange(before: ThreadState, ms: number, depth: number): void
}

/** More steps than a definition has: a retry is a step of its own. Further ones are not listed. */
const maxListed = 100

/** Executes steps until the run waits or ends. */
export function walk(scene: Scene, run: SimulatedRun, ms: number): void {
  run.dueMs = null
  while (run.reason === null && run.dueMs === null) {
    const placed = findStep(scene.definition, run.position)
    if (!placed) {
      endRun(run, ms, 'finished')
      return
    }
    const log = (step: Partial<DryRunStep> & Pick<DryRunStep, 'outcome'>) => {
      if (run.steps.length >= maxListed) return
      const at = new Date(ms).toISOString()
      run.steps.push({ path: placed.path, type: placed.step.type, at, text: null, reason: null, input: null, ...step })
    }
    if (scene.state.isOptedOut) {
      log({ outcome: 'stopped', reason: 'the contact opted out' })
      endRun(run, ms, 'opted_out')
      return
    }
    try {
      executeStep({ scene, run, ms, placed, log }, placed.step)
    } catch (error) {
      const failure = toFailure(error)
      if (!failure) throw error
      const onError = enterOnError(scene.definition, placed, failure)
      log({ outcome: 'failed', reason: failure.message })
      if (onError === undefined) {
        giveUp(scene, run, ms, failure)
        return
      }
      moveTo(run, onError)
    }
  }
}

export function endRun(run: SimulatedRun, ms: number, reason: DryRunReason, error: string | null = null): void {
  Object.assign(run, { endedMs: ms, dueMs: null, reason, error })
}

function moveTo(run: SimulatedRun, position: string): void {
  Object.assign(run, { position, tries: 0, askedMs: null, timeoutMs: null })
}

/** The conversation is open and the team's. */
function giveUp(scene: Scene, run: SimulatedRun, ms: number, { reason, message }: Failure): void {
  changeState(scene, run, ms, (state) => {
    setStatus(state, 'open')
    state.assigned_agent_id = null
  })
  endRun(run, ms, reason, message)
}

function changeState(
  { state, channel, onChange }: Scene,
  run: SimulatedRun,
  ms: number,
  change: (state: ThreadState) => void,
): void {
  if (!channel) return
  const before = { ...state }
  change(state)
  onChange(before, ms, run.depth + 1)
}

type Walking = {
  scene: Scene
  run: SimulatedRun
  ms: number
  placed: PlacedStep
  log(step: Partial<DryRunStep> & Pick<DryRunStep, 'outcome'>): void
}

function executeStep(walking: Walking, step: Step): void {
  const { scene, run, ms, placed, log } = walking
  const { definition } = scene
  const next = positionAfter(definition, placed.position)
  switch (step.type) {
    case 'send':
      log({ outcome: 'sent', text: send(walking, step.message) })
      moveTo(run, next)
      return
    case 'ask':
      ask(walking, step, next)
      return
    case 'branch': {
      const constants = { message: messageOf(run), answers: run.variables }
      const met = step.cases.map(({ when }) => isMet(when, constants, situationOf(scene, ms)))
      const { position, reason } = chooseCase(definition, placed.position, step, met)
      log({ outcome: 'done', reason })
      moveTo(run, position)
      return
    }
    case 'wait':
      wait(walking, step, next)
      return
    case 'set':
      log({ outcome: 'done', text: applySet(walking, step) })
      moveTo(run, next)
      return
    case 'note':
      log({ outcome: 'done', text: requireText(step.text, valuesOf(walking)) })
      moveTo(run, next)
      return
    case 'call':
      call(walking, step, next)
      return
    case 'hand_over': {
      const note = step.note === undefined ? '' : requireText(step.note, valuesOf(walking))
      const assigned = describeAssignment(scene, step)
      changeState(scene, run, ms, (state) => {
        setStatus(state, 'open')
        assign(state, step)
      })
      const text = [assigned.join('; '), describeHandOver(note, run.variables)].filter(Boolean).join('\n')
      log({ outcome: 'done', text: text || null })
      endRun(run, ms, 'handed_over')
      return
    }
    case 'end':
      log({ outcome: 'done' })
      endRun(run, ms, 'finished')
      return
  }
}

/** The message that started the run, as conditions read it. */
const messageOf = ({ message }: SimulatedRun) => message && { text: message.text, type: message.content_type }

export const situationOf = ({ state, channel, changes, facts, names, schedule }: Scene, ms: number): Situation => ({
  ...{ state: channel && state, changes, facts, names, schedule, ms },
})

function wait({ scene, run, ms, log }: Walking, step: WaitStep, next: string): void {
  const waitMs = 'for' in step ? toMs(step.for) : msUntilOpening(scene.schedule, ms)
  if (waitMs === 0) log({ outcome: 'done', reason: 'open already' })
  else log({ outcome: 'waiting', reason: 'for' in step ? step.for : `until ${step.until}` })
  moveTo(run, next)
  if (waitMs > 0) run.dueMs = ms + waitMs
}

function valuesOf({ scene: { contact, changes }, run }: Pick<Walking, 'scene' | 'run'>): TextValues {
  if (changes.attributes.size === 0) return { contact, answers: run.variables }
  const attributes = { ...(contact.attributes as object), ...Object.fromEntries(changes.attributes) }
  return { contact: { ...contact, attributes }, answers: run.variables }
}

/** Returns the text that the customer would have got. Throws as a send does, where the past says so. */
function send(walking: Walking, template: Message): string {
  const { scene, run, ms } = walking
  const filled = fillMessage(template, valuesOf(walking))
  if (!filled.ok) throw new StepFailed(filled.reason)
  const { message } = filled
  const channel = scene.channel ?? 'msgapp'
  requireSendable(channel, readRequestedContent(message as Parameters<typeof readRequestedContent>[0]))
  const { inboundMs } = scene.state
  const from = inboundMs === null ? null : new Date(inboundMs).toISOString()
  if (message.type !== 'template') requireWindow(scene.channels[channel], from, false, ms)
  scene.sentMs = scene.sentMs.filter((sent) => sent > ms - hourMs)
  requireFewMessages(scene.sentMs.length)
  scene.sentMs.push(ms)
  run.sentCount++
  return textOf(message)
}

/** What the customer would have read. Buttons and rows are in brackets. */
function textOf(message: Message): string {
  if (message.type !== 'interactive') return describeMessage(message)
  const { interactive } = message
  const titles =
    interactive.kind === 'link'
      ? [interactive.text]
      : interactive.kind === 'buttons'
        ? interactive.buttons.map(({ title }) => title)
        : interactive.sections.flatMap(({ rows }) => rows.map(({ title }) => title))
  return `${interactive.body}\n${titles.map((title) => `[${title}]`).join(' ')}`
}

function ask(walking: Walking, step: AskStep, next: string): void {
  const { scene, run, ms, log } = walking
  if (run.askedMs === null) {
    log({ outcome: 'asked', text: send(walking, step.message) })
    waitForAnswer(run, step, ms)
    return
  }
  const { askedMs } = run
  const replies = scene.received.filter(
    (message) =>
      message.ms > askedMs &&
      message.content_type !== reactionType &&
      (message.deletedMs === null || message.deletedMs > ms),
  )
  const reply = joinReplies(replies.slice(0, maxReplies))
  if (!reply) {
    giveUpWaiting(walking, step, askedMs)
    return
  }
  const input = inputOf(reply)
  const judged = judgeReply(step, valuesOf(walking), run.tries, reply)
  if (!judged.isAnswer) {
    log({ outcome: 'repeated', reason: judged.reason, input, text: send(walking, judged.message) })
    waitForAnswer(run, step, ms, { tries: judged.tries })
    return
  }
  const { variables, attribute, value } = judged
  if (attribute !== undefined) {
    requireAttributes({ [attribute]: value })
    scene.changes.attributes.set(attribute, value)
  }
  log({ outcome: 'answered', input, text: `${step.save_as}: ${value}` })
  moveTo(run, next)
  run.variables = variables
}

function waitForAnswer(
  run: SimulatedRun,
  step: AskStep,
  ms: number,
  { tries = 0, askedMs = ms }: { tries?: number; askedMs?: number } = {},
): void {
  const timeoutMs = ms + timeoutMsOf(step)
  Object.assign(run, { tries, askedMs, timeoutMs, dueMs: timeoutMs })
}

/** The steps of the timeout, or the end of the run. A run that a reaction has woken waits again. */
function giveUpWaiting({ scene, run, ms, placed, log }: Walking, step: AskStep, askedMs: number): void {
  if (run.timeoutMs !== null && ms < run.timeoutMs) {
    log({ outcome: 'waiting' })
    waitForAnswer(run, step, ms, { tries: run.tries, askedMs })
    return
  }
  log({ outcome: 'stopped', reason: 'no answer in time' })
  const position = enterTimeout(scene.definition, placed.position, step)
  if (position === undefined) endRun(run, ms, 'timeout')
  else moveTo(run, position)
}

/** Returns the changes in words. */
function applySet(walking: Walking, step: SetStep): string {
  const { scene, run, ms } = walking
  const { status, snooze_for, add_labels = [], remove_labels = [] } = step
  const { add_tags = [], remove_tags = [], attributes = {} } = step
  const values = valuesOf(walking)
  const entries = Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [
      name,
      typeof value === 'string' ? requireText(value, values) : value,
    ]),
  )
  const filled = requireAttributes(entries)
  const assigned = describeAssignment(scene, step)
  changeState(scene, run, ms, (state) => {
    if (status) setStatus(state, status)
    assign(state, step)
    if (snooze_for) {
      state.status = 'pending'
      scene.snoozedMs = ms + toMs(snooze_for)
      state.snoozed_until = new Date(scene.snoozedMs).toISOString()
    }
    state.labels = changeLabels(state.labels, add_labels, remove_labels)
  })
  for (const name of remove_tags) scene.changes.tags.set(fold(name), false)
  for (const name of add_tags) scene.changes.tags.set(fold(name), true)
  for (const [name, value] of Object.entries(filled)) scene.changes.attributes.set(name, value)
  return [
    ...[status ? `status ${status}` : '', ...assigned, snooze_for ? `snoozed for ${snooze_for}` : ''],
    ...[listed('add label', add_labels), listed('remove label', remove_labels)],
    ...[listed('add tag', add_tags), listed('remove tag', remove_tags)],
    ...Object.entries(filled).map(([name, value]) =>
      value === null ? `remove attribute ${name}` : `${name} = ${value}`,
    ),
  ]
    .filter(Boolean)
    .join('; ')
}

const listed = (what: string, names: readonly string[]): string =>
  names.length === 0 ? '' : `${what}${names.length > 1 ? 's' : ''} ${names.join(', ')}`

/** No call is made. Without its response the run is not known from here, if a later step can read it. */
function call({ run, ms, log }: Walking, { url, save_as }: CallStep, next: string): void {
  if (save_as === undefined) {
    log({ outcome: 'done', text: url, reason: 'not called; the run goes on as after a response of 2xx' })
    moveTo(run, next)
    return
  }
  log({
    outcome: 'stopped',
    text: url,
    reason: `the response of the server is not known, so ${readSaveAs(save_as).name} is not`,
  })
  endRun(run, ms, 'call')
}
