/**
 * The broadcast loop. It polls every 500 ms and when a signal wakes it, and moves each open broadcast to its next state:
 *
 *   scheduled     The time has come: start it (`startScheduled`).
 *   filling       A segment becomes recipients, in chunks (`fill.ts`). Handing over begins with the first chunk.
 *   handing over  A driver per workspace hands recipients over at the number's pace (`hand-over.ts`) and sends them.
 *   canceled      The remaining recipients are skipped, in chunks.
 *   done          No recipient is pending: write `completed_at`.
 *
 * A driver ends when a batch is `idle` (no recipient is due) or `held` (the circuit breaker is open). It waits when a batch
 * is `busy` (another process has the number), and pauses the broadcast when it is `stuck` (the template is not approved).
 *
 * No database connection is held while the channel is called. Any number of processes run this loop; row locks decide
 * which process does what. The policy is in pure modules: `circuit-breaker.ts` for outages of the channel, which end by
 * themselves, and `verdict.ts` for retries and for faults that pause a broadcast until a member resumes it.
 */

import { setTimeout as sleep, setImmediate as yieldToEventLoop } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import type { Times } from '../../common/times.ts'
import type { Signals } from '../accounts/signals.ts'
import type { Channel, Connection, Template } from '../channels/channel.ts'
import { getConnection } from '../channels/connections.ts'
import { getTemplate } from '../channels/templates.ts'
import { SealError, type Sealer } from '../lib/crypto.ts'
import { type Db, type Sql, withRetries } from '../lib/db.ts'
import type { Health } from '../lib/health.ts'
import type { Loop } from '../lib/loop.ts'
import type { Metrics } from '../lib/metrics.ts'
import { within } from '../lib/time.ts'
import { createTtlCache } from '../lib/ttl-cache.ts'
import { createAnswerRecorder } from '../messages/dispatch.ts'
import { createSettler, toOutcome } from '../messages/settle.ts'
import type { FilterFields } from '../segments/filter.ts'
import { finishBroadcast, isDone, pauseWithReason, skipRemaining, startScheduled } from './broadcasts.ts'
import { hasWork } from './choose.ts'
import { type Breaker, type BreakerEvent, closed, maxFailures } from './circuit-breaker.ts'
import { recipientFollower, sumCounts } from './counts.ts'
import { fillBroadcast } from './fill.ts'
import { batchMs, type HandedRecipient, type HandOverContext, handOver, requeue } from './hand-over.ts'
import { createInFlight } from './in-flight.ts'
import { createPace, isHeld, recordOutcome, slowDown } from './pace.ts'
import { judgeSent, type Verdict } from './verdict.ts'

/** How sends end, for a counter. */
export const countedSends = ['sent', 'throttled', 'rejected', 'unsent', 'unknown'] as const

export type BroadcastContext = {
  pools: { general: Db; broadcasts: Db; settle: Db }
  sealer: Sealer
  channel: Channel
  fields: FilterFields
  publicUrl: string
  log: FastifyBaseLogger
  health: Health
  signals: Signals
  /** Counts a send by its outcome. */
  count?: (outcome: (typeof countedSends)[number]) => void
  times: Times['broadcasts']
  /** Consecutive failures that open the circuit breaker; the documented number when absent. */
  failuresToOpen?: number | undefined
}

/** `wake`: poll now, because a broadcast may have work. */
export type BroadcastLoop = Loop & { wake(): void }

const maxFillers = 2
/** Sends that start before other work of the process runs: ten take the event loop a millisecond. */
const sliceSize = 10

/** A broadcast pauses after this many consecutive refusals of its template. */
const maxTemplateFaults = 5

type OpenBroadcast = {
  workspace_id: string
  id: string
  status: 'sending' | 'canceled'
  is_done: boolean
  is_canceled: boolean
  needs_filling: boolean
  has_work: boolean
}

export function startBroadcasts(context: BroadcastContext): BroadcastLoop {
  const {
    pools: { general: db, broadcasts: runDb, settle: settleDb },
    sealer,
    channel,
    fields,
    publicUrl,
    log,
    health,
    signals,
    count = () => {},
    times,
    failuresToOpen = maxFailures,
  } = context
  const policy = { failuresToOpen, ...times.breaker }
  const settle = createSettler(settleDb, { publicUrl, follower: recipientFollower })
  const recordAnswer = createAnswerRecorder(runDb)
  const readConnection = createTtlCache(
    (workspaceId) => getConnection(runDb, sealer, workspaceId, 'msgapp'),
    times.cacheMs,
  )
  const drivers = new Map<string, Promise<void>>()
  const fillers = new Map<string, Promise<void>>()
  const inFlight = createInFlight()
  /** The last state of each number's breaker that this process read, by connection. */
  const breakers = new Map<string, Breaker>()
  /** Consecutive refusals of the template, by broadcast. */
  const templateFaults = new Map<string, number>()
  let stopped = false
  let polling: Promise<void> | undefined
  let isPollRequested = false
  const timer = setInterval(wake, times.pollMs)

  function wake(): void {
    if (stopped) return
    isPollRequested = true
    polling ??= poll().finally(() => {
      polling = undefined
      if (isPollRequested) setImmediate(wake)
    })
  }

  async function poll(): Promise<void> {
    isPollRequested = false
    try {
      await health.watch('broadcasts', async () => {
        for (const { workspace_id, id } of await listDue(db)) await startScheduled(db, workspace_id, id)
        for (const open of await listOpen(db)) await advance(open)
      })
    } catch (error) {
      log.error({ err: error }, 'broadcasts could not be polled; the next poll tries again')
    }
  }

  /** Starts what the broadcast needs next. Fillers and drivers go on after this returns. */
  async function advance({ workspace_id: workspaceId, id, ...open }: OpenBroadcast): Promise<void> {
    if (open.is_canceled) {
      if (await skipRemaining(db, workspaceId, id)) isPollRequested = true
    }
    if (open.is_done || open.is_canceled) {
      await finishBroadcast(db, workspaceId, id)
      templateFaults.delete(id)
    }
    if (open.needs_filling && !fillers.has(id) && fillers.size < maxFillers) track(fillers, id, fill(workspaceId, id))
    if (open.has_work && !drivers.has(workspaceId)) track(drivers, workspaceId, drive(workspaceId))
  }

  function track(running: Map<string, Promise<void>>, key: string, run: Promise<void>): void {
    const ended = health
      .watch('broadcast-sends', () => run)
      .catch((error) => log.error({ err: error }, 'a broadcast stopped with an error; the next poll continues it'))
      .finally(() => running.delete(key))
    running.set(key, ended)
  }

  const fill = (workspaceId: string, id: string) =>
    fillBroadcast({ db, fields, workspaceId, id, onChunk: wake, isStopped: () => stopped })

  /** Hands recipients over at the number's pace until none is due or the circuit breaker opens. */
  async function drive(workspaceId: string): Promise<void> {
    const first = await readConnection(workspaceId).catch((error) => {
      if (!(error instanceof SealError)) throw error
    })
    if (!first) return pauseAll(workspaceId, 'The workspace has no usable msgapp connection.')
    const readTemplate = createTemplateReader(workspaceId, times.cacheMs)
    let pacedId: string | undefined
    while (!stopped) {
      const connection = await readConnection(workspaceId)
      if (!connection) return pauseAll(workspaceId, 'The workspace has no msgapp connection.')
      // A new connection has no row yet, and `handOver` takes a missing row for one that another process has locked.
      if (connection.id !== pacedId) await createPace(runDb, connection)
      pacedId = connection.id
      const limit = inFlight.capacity(connection.id, connection.messages_per_second)
      if (limit <= 0) {
        await inFlight.whenFreed()
        continue
      }
      const handOverContext = { connection, channel, limit, getTemplate: readTemplate, policy, times }
      const batch = await withRetries(() => handOver(runDb, handOverContext))
      if (batch.kind === 'idle') return
      if (batch.kind === 'stuck') {
        await pauseWithReason(db, workspaceId, batch.broadcastId, batch.reason)
        continue
      }
      if (batch.kind === 'busy') {
        await sleep(batchMs)
        continue
      }
      breakers.set(connection.id, batch.breaker)
      if (batch.kind === 'held') return
      if (batch.recipients.length > 0) {
        await sendAll(connection, batch.recipients)
        signals.changed(workspaceId)
        signals.deliveriesQueued()
      }
      await sleep(batch.waitMs)
    }
  }

  async function pauseAll(workspaceId: string, reason: string): Promise<void> {
    for (const { workspace_id, id, status } of await listOpen(db)) {
      if (workspace_id === workspaceId && status === 'sending') await pauseWithReason(db, workspaceId, id, reason)
    }
  }

  /** Starts all sends, a slice at a time, so that other work of this process runs in between. */
  async function sendAll(connection: Connection, recipients: readonly HandedRecipient[]): Promise<void> {
    for (const [i, recipient] of recipients.entries()) {
      if (i > 0 && i % sliceSize === 0) await yieldToEventLoop()
      inFlight.track(connection.id, (onAnswer) =>
        send(connection, recipient, onAnswer).catch((error) =>
          log.error({ err: error }, "the outcome of a send could not be stored; the channel's reports settle it"),
        ),
      )
    }
  }

  async function send(connection: Connection, recipient: HandedRecipient, onAnswer: () => void): Promise<void> {
    const { workspace_id } = connection
    const { contact_id, conversation_id, outgoing, attempt, is_probe: isProbe, rename } = recipient
    // The breaker opened after the hand-over. Requeue: a send would probably end with an unknown outcome.
    if (!isProbe && (breakers.get(connection.id) ?? closed).state !== 'closed') {
      await requeue(runDb, workspace_id, recipient, {
        afterMs: 0,
        reason: 'the channel is not answering',
        isAttempt: false,
      })
      return
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
      await requeue(runDb, workspace_id, recipient, {
        afterMs,
        reason: sent.message,
        isAttempt: sent.outcome !== 'unsent',
      })
    }
    await recordAnswer(connection, contact_id, outgoing.to, sent)
    await updateBreaker(connection, recipient, verdict, sent.ok ? '' : sent.message)
    await countFault(workspace_id, recipient.broadcast_id, verdict, sent.ok ? '' : sent.message)
    signals.changed(workspace_id)
  }

  /** Records the outcome in the number's circuit breaker, if it can change the state. */
  async function updateBreaker(
    connection: Connection,
    { handed_at, is_probe: isProbe }: HandedRecipient,
    verdict: Verdict,
    reason: string,
  ): Promise<void> {
    const known = breakers.get(connection.id)
    if (verdict.channel === 'answered') {
      // Only an answer after failures changes the state, so nearly all sends skip this statement.
      if (isProbe || (known?.state === 'closed' && known.failureCount > 0)) {
        await record(connection, { type: 'answered', isProbe })
      }
      return
    }
    // Throttled sends that were in flight together slow the pace once and count as one failure.
    const isThrottled = verdict.channel === 'throttled'
    const isSlower = isThrottled && (await slowDown(runDb, connection, handed_at, times))
    if (!isThrottled || isSlower || isProbe) await record(connection, { type: 'failed', isProbe, reason })
  }

  async function record(connection: Connection, event: BreakerEvent): Promise<void> {
    const moved = await recordOutcome(runDb, connection, event, policy)
    if (!moved) return
    const { before, after } = moved
    breakers.set(connection.id, after)
    if (before.state === after.state) return
    const { workspace_id: workspace, id } = connection
    if (after.state === 'closed')
      log.info({ workspace, connection: id }, 'the channel answers again; broadcasts continue')
    else
      log.warn(
        { workspace, connection: id, ...after },
        'the channel does not answer; the circuit breaker is open and the broadcasts of this number wait',
      )
    wake()
  }

  /** Pauses the broadcast after a fault that every recipient would have. */
  async function countFault(workspaceId: string, id: string, { fault }: Verdict, message: string): Promise<void> {
    if (fault === null) {
      templateFaults.delete(id)
      return
    }
    const faults = (templateFaults.get(id) ?? 0) + 1
    templateFaults.set(id, faults)
    if (fault === 'template' && faults < maxTemplateFaults) return
    templateFaults.delete(id)
    const [subject, check] = fault === 'template' ? ['template', 'template'] : ['credentials', 'connection']
    const reason = `The channel refused the ${subject}: ${message.replace(/\.$/, '')}. Check the ${check}, then resume.`
    await pauseWithReason(db, workspaceId, id, reason)
    log.warn({ workspace: workspaceId, broadcast: id, reason }, 'a broadcast was paused')
  }

  async function end(): Promise<void> {
    // Ends the drivers that wait for capacity. The second call waits for the sends that they started meanwhile.
    void inFlight.stop()
    await polling
    await Promise.all([...drivers.values(), ...fillers.values()])
    await inFlight.stop()
  }

  let stopping: Promise<unknown> | undefined
  wake()
  return {
    wake,
    async stop() {
      stopped = true
      clearInterval(timer)
      stopping ??= within(times.stopMs, end())
      await stopping
    },
  }
}

/**
 * Caches the approved templates of a workspace for `cacheMs`. A broadcast pauses for any other one, and after a resume it must find
 * the new state. Reads in the transaction of the caller.
 */
function createTemplateReader(workspaceId: string, cacheMs: number): HandOverContext['getTemplate'] {
  const cache = new Map<string, { at: number; template: Template }>()
  return async (sql, name, language) => {
    const key = JSON.stringify([name, language])
    const cached = cache.get(key)
    if (cached && performance.now() - cached.at < cacheMs) return cached.template
    const template = await getTemplate(sql, workspaceId, name, language)
    if (template?.status === 'APPROVED') cache.set(key, { at: performance.now(), template })
    return template
  }
}

async function listDue(sql: Sql): Promise<{ workspace_id: string; id: string }[]> {
  return sql<{ workspace_id: string; id: string }[]>`
    select workspace_id, id from broadcasts
    where status = 'scheduled' and scheduled_at <= now() and not is_paused
    order by scheduled_at
    limit 100`
}

/** Broadcasts that are started or canceled and not completed, with what each of them needs. */
async function listOpen(sql: Sql): Promise<OpenBroadcast[]> {
  return sql<OpenBroadcast[]>`
    select b.workspace_id, b.id, b.status, b.status = 'sending' and ${isDone(sql)} as is_done,
      b.status = 'canceled' as is_canceled, b.status = 'sending' and not b.is_filled and not b.is_paused as needs_filling,
      b.status = 'sending' and not b.is_paused and b.started_at is not null and ${hasWork(sql)}
        and not ${isHeld(sql)} as has_work
    from broadcasts b cross join lateral (${sumCounts(sql)}) n
    -- The second condition is that of the index.
    where b.completed_at is null and b.status <> 'scheduled' and b.status <> 'draft'
    order by b.workspace_id, b.id`
}

/** The gauge of broadcasts by status. */
export function watchBroadcasts(sql: Sql, metrics: Metrics): void {
  metrics.gauge('parley_broadcasts', 'Broadcasts, by status; paused ones count as paused.', 'status', async () => {
    const rows = await sql<{ status: string; count: number }[]>`
      select case when b.is_paused or b.status = 'sending' and exists (
          select from broadcast_paces p where p.workspace_id = b.workspace_id and p.breaker_state <> 'closed'
        ) then 'paused' else b.status end as status, count(*)::int as count
      from broadcasts b group by 1`
    const none = { draft: 0, scheduled: 0, sending: 0, sent: 0, canceled: 0, paused: 0 }
    return { ...none, ...Object.fromEntries(rows.map(({ status, count }) => [status, count])) }
  })
}
