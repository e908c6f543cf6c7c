/**
 * Replays the past of one conversation for an automation: which runs would have started, and what they would have done. Pure.
 *
 * Events and due runs are processed in the order of their time. As in the engine, a customer's message answers the open question or
 * starts a run, a person ends the open runs, and a change by a run may start the automation again.
 */
import { listTriggers } from '../../conversations/activity.ts'
import { answerDelayMs, causesOfMessage, isFree, maxDepth } from '../decisions.ts'
import { toMs } from '../durations.ts'
import { type Cause, matches } from '../match.ts'
import { firstPosition, hasQuestions } from '../steps.ts'
import { isMet } from './conditions.ts'
import { applyEntry, type PastEvent, type PastMessage, receive, reply, setStatus, type ThreadState } from './state.ts'
import { endRun, type Scene, type SimulatedRun, situationOf, walk } from './walk.ts'

export type Plan = Pick<Scene, 'definition' | 'channels' | 'memberNames' | 'teamNames' | 'names'> & {
  /** Runs start in this time. */
  fromMs: number
  toMs: number
  togetherMs: number
}

/** Another automation was in the conversation. `wins`: it is before this one, of two that one message starts. */
export type OtherBot = { fromMs: number; toMs: number; message_id: string | null; wins: boolean }

export type Thread = Pick<Scene, 'contact' | 'channel' | 'state' | 'facts' | 'schedule'> & {
  events: readonly PastEvent[]
  bots: readonly OtherBot[]
}

/** Returns after each event, so that the caller can let other work run. The runs are complete at the end. */
export function* replay(plan: Plan, thread: Thread): Generator<undefined, SimulatedRun[]> {
  const replayer = createReplayer(plan, thread)
  for (const event of thread.events) {
    while (replayer.nextMs() < event.ms) {
      replayer.advance()
      yield
    }
    replayer.apply(event)
    yield
  }
  while (replayer.nextMs() <= plan.toMs) {
    replayer.advance()
    yield
  }
  return replayer.runs
}

type Change = { events: ReturnType<typeof listTriggers>; ms: number; depth: number }

function createReplayer(plan: Plan, { contact, channel, state, facts, schedule, bots }: Thread) {
  const { definition, channels, memberNames, teamNames, names } = plan
  const automation = { has_questions: hasQuestions(definition) }
  const runs: SimulatedRun[] = []
  let open: SimulatedRun[] = []
  const changed: Change[] = []
  const silence = createSilence(plan, channel)
  const scene: Scene = {
    ...{ definition, channels, memberNames, teamNames, names, contact, channel, state, facts, schedule },
    changes: { tags: new Map(), attributes: new Map() },
    received: [],
    snoozedMs: null,
    sentMs: [],
    onChange: (before, ms, depth) => changed.push({ events: listTriggers(before, state), ms, depth }),
  }

  /** The simulated run with questions. */
  const findBot = () => (automation.has_questions ? open[0] : undefined)

  function isWithBot(ms: number, message: PastMessage | undefined): boolean {
    if (findBot()) return true
    return bots.some((bot) => ms < bot.toMs && (message && bot.message_id === message.id ? bot.wins : bot.fromMs < ms))
  }

  function start(causes: readonly Cause[], ms: number, message?: PastMessage, depth = 0): void {
    if (ms < plan.fromMs || state.isOptedOut) return
    if (!causes.some((cause) => matches(definition.trigger, cause))) return
    const constants = { message: message && { text: message.text, type: message.content_type }, answers: {} }
    if (!isMet(definition.conditions, constants, situationOf(scene, ms))) return
    const run: SimulatedRun = {
      ...{ message, depth, startedMs: ms, endedMs: null, reason: null, error: null, position: firstPosition },
      ...{ variables: {}, tries: 0, askedMs: null, timeoutMs: null, dueMs: null, sentCount: 0, steps: [] },
    }
    if (depth >= maxDepth) {
      endRun(run, ms, 'limit_chain')
      runs.push(run)
      return
    }
    // A change of a contact has no conversation, so it starts no questions.
    const isOfContact = causes.some(({ type }) => type === 'contact')
    if (!isFree(automation, channel && !isOfContact ? { isWithBot: isWithBot(ms, message) } : undefined)) return
    runs.push(run)
    open.push(run)
    proceed(run, ms)
  }

  /** Executes a run, then what its changes start. */
  function proceed(run: SimulatedRun, ms: number): void {
    walk(scene, run, ms)
    open = open.filter(({ reason }) => reason === null)
    for (let change = changed.shift(); change; change = changed.shift()) {
      const { depth } = change
      for (const { event, detail } of change.events) {
        start([{ type: 'conversation', event, label: detail ?? null }], change.ms, undefined, depth)
      }
    }
  }

  function stop(ms: number, reason: 'person' | 'opted_out'): void {
    for (const run of open) endRun(run, ms, reason)
    open = []
  }

  function applyMessage(message: PastMessage): void {
    const { ms, text, content_type, button, is_first } = message
    const opens = receive(state, message)
    scene.received.push(message)
    if (message.wish) state.isOptedOut = message.wish === 'stop'
    if (state.isBlocked) return
    if (message.wish === 'stop') {
      stop(ms, 'opted_out')
      return
    }
    const bot = findBot()
    if (bot?.dueMs && bot.askedMs !== null && bot.askedMs < ms) {
      bot.dueMs = Math.min(bot.dueMs, ms + answerDelayMs(message, plan.togetherMs))
    }
    start(causesOfMessage({ text, content_type, button, is_first: opens && is_first }, opens), ms, message)
  }

  function applyChange(event: Extract<PastEvent, { kind: 'change' }>): void {
    const before = { ...state }
    const { kind, details } = event.entry
    applyEntry(state, event.entry, event.ms)
    // The end of a snooze and a block start nothing, and the message of a customer has started what it starts.
    if (details.by === 'customer' || details.by === 'timer' || kind === 'blocked' || kind === 'unblocked') return
    for (const { event: name, detail } of listTriggers(before, state)) {
      start([{ type: 'conversation', event: name, label: detail ?? null }], event.ms)
    }
  }

  function apply(event: PastEvent): void {
    switch (event.kind) {
      case 'message':
        applyMessage(event.message)
        return
      case 'person':
        reply(state, event.ms)
        stop(event.ms, 'person')
        return
      case 'change':
        applyChange(event)
        return
      case 'opt_out':
        state.isOptedOut = event.isOptedOut
        return
      case 'created':
        start([{ type: 'contact', event: 'created' }], event.ms)
        return
    }
  }

  /** The end of a snooze of a simulated run. That of the past is an event. */
  const wakeMs = () =>
    scene.snoozedMs && state.snoozed_until === new Date(scene.snoozedMs).toISOString() ? scene.snoozedMs : Infinity

  const nextMs = () => Math.min(wakeMs(), silence.nextMs(state), ...open.map(({ dueMs }) => dueMs ?? Infinity))

  function advance(): void {
    const ms = nextMs()
    if (wakeMs() === ms) {
      setStatus(state, 'open')
      state.inboxMs = ms
      return
    }
    const run = open.find(({ dueMs }) => dueMs === ms)
    if (run) {
      proceed(run, ms)
      return
    }
    const cause = silence.check(state)
    // The wait of a customer who is with a bot is none of the team.
    const isHeld = cause?.type === 'silence' && cause.event === 'waiting' && isWithBot(ms, undefined)
    if (cause && !isHeld) start([cause], ms)
  }

  return { runs, apply, nextMs, advance }
}

/** When nothing has been written for the time of the trigger. Each silence is checked once, at its time. */
function createSilence(
  { definition: { trigger }, channels }: Pick<Plan, 'definition' | 'channels'>,
  channel: Thread['channel'],
): { nextMs(state: ThreadState): number; check(state: ThreadState): Cause | undefined } {
  if (trigger.type !== 'silence' || !channel) return { nextMs: () => Infinity, check: () => undefined }
  const { event, after } = trigger
  const afterMs = toMs(after)
  const windowMs = Math.max(...Object.values(channels).map((each) => each.windowMs ?? 0))
  let checked: number | null = null
  const sinceOf = ({ waitingSinceMs, inboxMs, inboundMs }: ThreadState) =>
    ({ waiting: waitingSinceMs, no_reply: inboxMs, window_ends: inboundMs })[event]
  const delayMs = event === 'window_ends' ? windowMs - afterMs : afterMs
  const isSilent = (state: ThreadState) =>
    !state.isBlocked &&
    {
      waiting: state.status !== 'closed',
      no_reply:
        state.status === 'open' &&
        state.waitingSinceMs === null &&
        (state.inboxMs ?? 0) > (state.receivedMs ?? Infinity),
      window_ends: state.status !== 'closed' && channels[channel].windowMs !== null,
    }[event]
  return {
    nextMs(state: ThreadState): number {
      const since = sinceOf(state)
      return since === null || since === checked ? Infinity : since + delayMs
    },
    check(state: ThreadState): Cause | undefined {
      checked = sinceOf(state)
      return isSilent(state) ? { type: 'silence', event, after } : undefined
    },
  }
}
