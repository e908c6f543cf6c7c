/**
 * The driver of a sending number. The file follows its recipients downwards: handed over at the number's pace, sent, settled or
 * requeued; then what the answer of the channel means for the number and for the broadcast.
 *
 * `run` ends when no recipient is due or the circuit breaker is open; a later poll runs the driver again. Sends in flight outlast
 * it, so the driver keeps what they share: the last known state of the breaker, the load, and the refusals of each template.
 *
 * No database connection is held while the channel is called. The policy is in pure modules: `circuit-breaker.ts` for outages
 * of the channel, which end by themselves, and `verdict.ts` for retries and for faults that pause a broadcast until a member
 * resumes it.
 */
import { setTimeout as sleep, setImmediate as yieldToEventLoop } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import type { Times } from '../../common/times.ts'
import type { Channel, Connection } from '../channels/channel.ts'
import { type Db, withRetries } from '../lib/postgres/db.ts'
import type { createAnswerRecorder } from '../messages/sending/dispatch.ts'
import { type createSettler, toOutcome } from '../messages/sending/settle.ts'
import type { Signals } from '../signals/signals.ts'
import { pauseWithReason } from './broadcasts.ts'
import { type Breaker, type BreakerPolicy, closed } from './circuit-breaker.ts'
import { batchMs, type HandedRecipient, handOver, requeue } from './hand-over.ts'
import type { InFlight, Load } from './in-flight.ts'
import { createPace, recordOutcome, slowDown } from './pace.ts'
import { judgeSent, type Verdict } from './verdict.ts'

/** How sends end, for a counter. */
export const countedSends = ['sent', 'throttled', 'rejected', 'unsent', 'unknown'] as const

/** What the drivers of a process share. */
export type DriverContext = {
  pools: { general: Db; broadcasts: Db }
  channel: Channel
  /** By workspace and id. Undefined: it is disconnected, or its secrets cannot be opened. */
  readConnection: (key: string) => Promise<Connection | undefined>
  /** The same without the cache. */
  readStored: (key: string) => Promise<Connection | undefined>
  settle: ReturnType<typeof createSettler>
  recordAnswer: ReturnType<typeof createAnswerRecorder>
  /** Called after each hand-over. */
  onHandOver: () => void
  inFlight: InFlight
  signals: Signals
  log: FastifyBaseLogger
  /** Counts a send by its outcome. */
  count: (outcome: (typeof countedSends)[number]) => void
  policy: BreakerPolicy
  times: Times['broadcasts']
  /** Polls now: the circuit breaker of a number has changed. */
  wake: () => void
  isStopped: () => boolean
}

/** Sends that start before other work of the process runs: ten take the event loop a millisecond. */
const sliceSize = 10

/** A broadcast pauses after this many consecutive refusals of its template. */
const maxTemplateFaults = 5

export class Driver {
  readonly workspaceId: string
  readonly #context: DriverContext
  /** The last state of the number's circuit breaker that this process read. */
  #breaker: Breaker = closed
  readonly #load: Load = { count: 0, unanswered: 0 }
  /** Consecutive refusals of the template, by broadcast. */
  readonly #templateFaults = new Map<string, number>()

  constructor(context: DriverContext, workspaceId: string) {
    this.#context = context
    this.workspaceId = workspaceId
  }

  /** Hands recipients over at the pace of the number. Ends also when the number was disconnected. */
  async run(first: Connection): Promise<void> {
    const { pools, channel, readConnection, onHandOver, inFlight, policy, times, isStopped } = this.#context
    // A new connection has no row yet, and `handOver` takes a missing row for one that another process has locked.
    await createPace(pools.broadcasts, first)
    for (;;) {
      const connection = await readConnection(`${this.workspaceId} ${first.id}`)
      if (isStopped() || !connection) return
      const limit = inFlight.capacity(this.#load, connection.messages_per_second)
      if (limit <= 0) {
        await inFlight.whenFreed()
        continue
      }
      const batch = await withRetries(() => handOver(pools.broadcasts, { connection, channel, limit, policy, times }))
      onHandOver()
      if (batch.kind === 'idle') return
      if (batch.kind === 'busy') {
        // A number that was disconnected and connected again has lost its row.
        await createPace(pools.broadcasts, connection)
        await sleep(batchMs)
        continue
      }
      this.#breaker = batch.breaker
      if (batch.kind === 'held') return
      await this.#sendAll(connection, batch.recipients)
      await sleep(batch.waitMs)
    }
  }

  /** Starts all sends, a slice at a time, so that other work of this process runs in between. */
  async #sendAll(connection: Connection, recipients: readonly HandedRecipient[]): Promise<void> {
    const { inFlight, signals, log } = this.#context
    for (const [i, recipient] of recipients.entries()) {
      if (i > 0 && i % sliceSize === 0) await yieldToEventLoop()
      inFlight.track(this.#load, (onAnswer) =>
        this.#send(connection, recipient, onAnswer).catch((error) =>
          log.error({ err: error }, "the outcome of a send could not be stored; the channel's reports settle it"),
        ),
      )
    }
    if (recipients.length === 0) return
    signals.changed(this.workspaceId)
    signals.deliveriesQueued()
  }

  async #send(connection: Connection, recipient: HandedRecipient, onAnswer: () => void): Promise<void> {
    const { pools, channel, settle, recordAnswer, signals, count, times } = this.#context
    const { workspaceId: workspace_id } = this
    const { contact_id, conversation_id, outgoing, attempt, is_probe: isProbe, rename } = recipient
    // The breaker opened after the hand-over. Requeue: a send would probably end with an unknown outcome.
    if (!isProbe && this.#breaker.state !== 'closed') {
      const retry = { afterMs: 0, reason: 'the channel is not answering', isAttempt: false }
      return requeue(pools.broadcasts, workspace_id, recipient, retry)
    }
    const sent = await channel.send(connection, outgoing)
    if (sent.ok || sent.outcome === 'rejected') onAnswer()
    const verdict = judgeSent(sent, { attempt, isProbe }, times)
    count(sent.ok ? 'sent' : verdict.channel === 'throttled' ? 'throttled' : sent.outcome)
    if (verdict.retryMs === null || sent.ok) {
      const message = { workspace_id, conversation_id, id: outgoing.message_id }
      await settle({ ...toOutcome(message, sent), rename })
    } else {
      const afterMs = verdict.retryMs * (0.8 + Math.random() * 0.4)
      const retry = { afterMs, reason: sent.message, isAttempt: sent.outcome !== 'unsent' }
      await requeue(pools.broadcasts, workspace_id, recipient, retry)
    }
    await recordAnswer(connection, contact_id, outgoing.to, sent)
    const reason = sent.ok ? '' : sent.message
    await this.#updateBreaker(connection, recipient, verdict, reason)
    await this.#countFault(connection, recipient.broadcast_id, verdict, reason)
    signals.changed(workspace_id)
  }

  /** Records the outcome in the number's circuit breaker, if it can change the state. */
  async #updateBreaker(
    connection: Connection,
    { handed_at, is_probe: isProbe }: HandedRecipient,
    { channel }: Verdict,
    reason: string,
  ): Promise<void> {
    const { pools, policy, times, log, wake } = this.#context
    // Only an answer after failures changes the state, so nearly all sends skip the statement.
    const hasFailures = this.#breaker.state === 'closed' && this.#breaker.failureCount > 0
    if (channel === 'answered' && !isProbe && !hasFailures) return
    // Throttled sends that were in flight together slow the pace once and count as one failure.
    if (channel === 'throttled' && !(await slowDown(pools.broadcasts, connection, handed_at, times)) && !isProbe) return
    const type = channel === 'answered' ? 'answered' : 'failed'
    const moved = await recordOutcome(pools.broadcasts, connection, { type, isProbe, reason }, policy, times)
    if (!moved) return
    const { before, after } = moved
    this.#breaker = after
    if (before.state === after.state) return
    const number = { workspace: this.workspaceId, connection: connection.id }
    if (after.state === 'closed') log.info(number, 'the channel answers again; broadcasts continue')
    else {
      const message = 'the channel does not answer; the circuit breaker is open and the broadcasts of this number wait'
      log.warn({ ...number, ...after }, message)
    }
    wake()
  }

  /** Pauses the broadcast after a fault that every recipient would have. */
  async #countFault(connection: Connection, id: string, { fault }: Verdict, message: string): Promise<void> {
    const { pools, log, readStored } = this.#context
    const faults = (this.#templateFaults.get(id) ?? 0) + 1
    this.#templateFaults.delete(id)
    if (fault === null) return
    if (fault === 'template' && faults < maxTemplateFaults) {
      this.#templateFaults.set(id, faults)
      return
    }
    // A member has replaced the token since the message was handed over: the next attempt uses the new one.
    const stored = fault === 'credentials' ? await readStored(`${this.workspaceId} ${connection.id}`) : undefined
    if (stored && stored.access_token !== connection.access_token) return
    const [subject, check] = fault === 'template' ? ['template', 'template'] : ['credentials', 'connection']
    const reason = `The channel refused the ${subject}: ${message.replace(/\.$/, '')}. Check the ${check}, then resume.`
    await pauseWithReason(pools.general, this.workspaceId, id, reason)
    log.warn({ workspace: this.workspaceId, broadcast: id, reason }, 'a broadcast was paused')
  }
}
