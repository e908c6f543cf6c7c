/**
 * The engine: start what is due, fill, hand over, send, settle, finish.
 *
 * A driver for each workspace hands batches over at its number's pace while
 * there are recipients. What was handed over is sent at once, and no connection
 * to the database is held meanwhile. Any number of processes do this side by
 * side: rows and their locks decide which one does what.
 *
 * An outage of the channel opens the number's circuit breaker
 * (`circuit-breaker.ts`): its broadcasts wait and go on by themselves. A fault
 * of the template or the credentials pauses a broadcast until a member resumes
 * it.
 */

import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
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
import { finishBroadcast, holdBroadcast, isDone, skipRest, startScheduled } from './broadcasts.ts'
import { hasWork } from './choose.ts'
import { type Breaker, type BreakerEvent, type BreakerPolicy, breakerPolicy, closed } from './circuit-breaker.ts'
import { recipientsFollow, sumUp } from './counts.ts'
import { fillBroadcast } from './fill.ts'
import { batchMs, type Handed, type HandingOver, handOver, requeue } from './hand-over.ts'
import { createInFlight } from './in-flight.ts'
import { createPace, isHeldBack, recordOutcome, slowDown } from './pace.ts'
import { judgeSent, type Verdict } from './verdict.ts'

export type Broadcasting = {
  pools: { general: Db; broadcasts: Db; settle: Db }
  sealer: Sealer
  channel: Channel
  fields: FilterFields
  publicUrl: string
  log: FastifyBaseLogger
  health: Health
  signals: Signals
  /** Count a send by its outcome. */
  count?: (outcome: string) => void
  policy?: BreakerPolicy | undefined
}

/** `wake`: there may be something to do. */
export type BroadcastingLoop = Loop & { wake(): void }

/** A schedule is seen this late at most. */
const pollMs = 500
/** When it stops, sends in flight get this long. */
const graceMs = 5_000
/** A connection or a template is as it was at most this long ago. */
const freshMs = 1_000
const maxFillers = 2
/** Ten sends take the event loop a millisecond. */
const sliceSize = 10

/** After this many refusals of the template in a row a broadcast pauses. */
const maxTemplateFaults = 5

type Open = {
  workspace_id: string
  id: string
  status: 'sending' | 'canceled'
  is_done: boolean
  is_canceled: boolean
  wants_rows: boolean
  has_work: boolean
}

export function startBroadcasting(broadcasting: Broadcasting): BroadcastingLoop {
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
    policy = breakerPolicy,
  } = broadcasting
  const settle = createSettler(settleDb, { publicUrl, follower: recipientsFollow })
  const recordAnswer = createAnswerRecorder(runDb)
  const readConnection = createTtlCache((workspaceId) => getConnection(runDb, sealer, workspaceId, 'msgapp'), freshMs)
  const drivers = new Map<string, Promise<void>>()
  const fillers = new Map<string, Promise<void>>()
  const inFlight = createInFlight()
  /** The breakers of numbers as this process saw them last, by connection. */
  const breakers = new Map<string, Breaker>()
  /** Refusals of the template in a row, by broadcast. */
  const templateFaults = new Map<string, number>()
  let stopped = false
  let looking: Promise<void> | undefined
  let again = false
  const poll = setInterval(wake, pollMs)

  function wake(): void {
    if (stopped) return
    again = true
    looking ??= look().finally(() => {
      looking = undefined
      if (again) setImmediate(wake)
    })
  }

  /** See what there is to do, and have it done. */
  async function look(): Promise<void> {
    again = false
    try {
      await health.watch('broadcasts', async () => {
        for (const { workspace_id, id } of await listDue(db)) await startScheduled(db, workspace_id, id)
        for (const open of await listOpen(db)) await tend(open)
      })
    } catch (error) {
      log.error({ err: error }, 'broadcasts could not be looked after; the next look tries again')
    }
  }

  async function tend({ workspace_id: workspaceId, id, ...open }: Open): Promise<void> {
    if (open.is_canceled) {
      // More than a chunk is there at the next look.
      if (await skipRest(db, workspaceId, id)) again = true
    }
    if (open.is_done || open.is_canceled) {
      await finishBroadcast(db, workspaceId, id)
      templateFaults.delete(id)
    }
    if (open.wants_rows && !fillers.has(id) && fillers.size < maxFillers) keep(fillers, id, fill(workspaceId, id))
    if (open.has_work && !drivers.has(workspaceId)) keep(drivers, workspaceId, drive(workspaceId))
  }

  function keep(running: Map<string, Promise<void>>, key: string, run: Promise<void>): void {
    const ended = health
      .watch('broadcast-sends', () => run)
      .catch((error) => log.error({ err: error }, 'a broadcast could not go on; the next look tries again'))
      .finally(() => running.delete(key))
    running.set(key, ended)
  }

  const fill = (workspaceId: string, id: string) =>
    fillBroadcast({ db, fields, workspaceId, id, onChunk: wake, isStopped: () => stopped })

  /** Hand over at the number's pace until there is nobody left for the moment, or the circuit breaker opens. */
  async function drive(workspaceId: string): Promise<void> {
    const first = await readConnection(workspaceId).catch((error) => {
      if (!(error instanceof SealError)) throw error
    })
    if (!first) return holdAll(workspaceId, 'The workspace has no msgapp connection that can be used.')
    const readTemplate = createTemplateReader(workspaceId)
    let paced: string | undefined
    while (!stopped) {
      const connection = await readConnection(workspaceId)
      if (!connection) return holdAll(workspaceId, 'The workspace has no msgapp connection.')
      // A connection that replaced another has no row yet, and a row that is missing looks like one another process holds.
      if (connection.id !== paced) await createPace(runDb, connection)
      paced = connection.id
      const limit = inFlight.capacity(connection.id, connection.messages_per_second)
      if (limit <= 0) {
        await inFlight.whenFreed()
        continue
      }
      const handing = { connection, channel, limit, getTemplate: readTemplate, policy }
      const batch = await withRetries(() => handOver(runDb, handing))
      if (batch.kind === 'idle') return
      if (batch.kind === 'stuck') {
        await holdBroadcast(db, workspaceId, batch.broadcastId, batch.reason)
        continue
      }
      if (batch.kind === 'busy') {
        await sleep(batchMs)
        continue
      }
      breakers.set(connection.id, batch.breaker)
      if (batch.kind === 'held') return
      if (batch.handed.length > 0) {
        await beginAll(connection, batch.handed)
        signals.changed(workspaceId)
        signals.deliveriesQueued()
      }
      await sleep(batch.waitMs)
    }
  }

  async function holdAll(workspaceId: string, reason: string): Promise<void> {
    for (const { workspace_id, id, status } of await listOpen(db)) {
      if (workspace_id === workspaceId && status === 'sending') await holdBroadcast(db, workspaceId, id, reason)
    }
  }

  /** At once, but a few at a time, so that other work of this process gets a turn in between. */
  async function beginAll(connection: Connection, all: readonly Handed[]): Promise<void> {
    for (const [i, handed] of all.entries()) {
      if (i > 0 && i % sliceSize === 0) await nextTurn()
      inFlight.track(connection.id, (onAnswer) =>
        send(connection, handed, onAnswer).catch((error) =>
          log.error({ err: error }, 'the outcome of a send could not be stored; the reports of the channel settle it'),
        ),
      )
    }
  }

  async function send(connection: Connection, handed: Handed, onAnswer: () => void): Promise<void> {
    const { workspace_id } = connection
    const { contact_id, conversation_id, outgoing, attempt, is_probe: isProbe, rename } = handed
    // It opened since this recipient was handed over: better not sent than with an unknown outcome.
    if (!isProbe && (breakers.get(connection.id) ?? closed).state !== 'closed') {
      await requeue(runDb, workspace_id, handed, {
        afterMs: 0,
        reason: 'the channel is not answering',
        isAttempt: false,
      })
      return
    }
    const sent = await channel.send(connection, outgoing)
    if (sent.ok || sent.outcome === 'rejected') onAnswer()
    const verdict = judgeSent(sent, { attempt, isProbe })
    count(sent.ok ? 'sent' : verdict.channel === 'throttled' ? 'throttled' : sent.outcome)
    if (verdict.retryMs === null || sent.ok) {
      const message = { workspace_id, conversation_id, id: outgoing.message_id }
      await settle({ ...toOutcome(message, sent), rename })
    } else {
      const afterMs = verdict.retryMs * (0.8 + Math.random() * 0.4)
      await requeue(runDb, workspace_id, handed, {
        afterMs,
        reason: sent.message,
        isAttempt: sent.outcome !== 'unsent',
      })
    }
    await recordAnswer(connection, contact_id, outgoing.to, sent)
    await noteChannel(connection, handed, verdict, sent.ok ? '' : sent.message)
    await noteFault(workspace_id, handed.broadcast_id, verdict, sent.ok ? '' : sent.message)
    signals.changed(workspace_id)
  }

  /** Tell the number's circuit breaker, if it does not know. */
  async function noteChannel(
    connection: Connection,
    { handed_at, is_probe: isProbe }: Handed,
    verdict: Verdict,
    reason: string,
  ): Promise<void> {
    const known = breakers.get(connection.id)
    if (verdict.channel === 'answered') {
      // An answer is news only after failures: nearly all sends are spared this.
      if (isProbe || (known?.state === 'closed' && known.failureCount > 0)) {
        await record(connection, { type: 'answered', isProbe })
      }
      return
    }
    // Throttled sends that left together ask for one slower pace: they are one failure.
    const isThrottled = verdict.channel === 'throttled'
    const isSlower = isThrottled && (await slowDown(runDb, connection, handed_at))
    if (!isThrottled || isSlower || isProbe) await record(connection, { type: 'failed', isProbe, reason })
  }

  async function record(connection: Connection, event: BreakerEvent): Promise<void> {
    const moved = await recordOutcome(runDb, connection, event, policy)
    if (!moved) return
    const { before, after } = moved
    breakers.set(connection.id, after)
    if (before.state === after.state) return
    const { workspace_id: workspace, id } = connection
    if (after.state === 'closed') log.info({ workspace, connection: id }, 'the channel answers again; broadcasts go on')
    else
      log.warn({ workspace, connection: id, ...after }, 'the channel is not answering; broadcasts of the number wait')
    wake()
  }

  /** Pause the broadcast for what would go wrong with every recipient. */
  async function noteFault(workspaceId: string, id: string, { fault }: Verdict, message: string): Promise<void> {
    if (fault === null) {
      templateFaults.delete(id)
      return
    }
    const faults = (templateFaults.get(id) ?? 0) + 1
    templateFaults.set(id, faults)
    if (fault === 'template' && faults < maxTemplateFaults) return
    templateFaults.delete(id)
    const [what, check] = fault === 'template' ? ['template', 'template'] : ['credentials', 'connection']
    const reason = `The channel refused the ${what}: ${message.replace(/\.$/, '')}. Check the ${check}, then resume.`
    await holdBroadcast(db, workspaceId, id, reason)
    log.warn({ workspace: workspaceId, broadcast: id, reason }, 'a broadcast paused')
  }

  async function end(): Promise<void> {
    // Drivers that wait for capacity end with this; what they still begin is waited for below.
    void inFlight.stop()
    await looking
    await Promise.all([...drivers.values(), ...fillers.values()])
    await inFlight.stop()
  }

  let stopping: Promise<unknown> | undefined
  wake()
  return {
    wake,
    async stop() {
      stopped = true
      clearInterval(poll)
      stopping ??= within(graceMs, end())
      await stopping
    },
  }
}

/** Templates of a workspace, read once for the batches of a moment. */
function createTemplateReader(workspaceId: string): HandingOver['getTemplate'] {
  const known = new Map<string, { at: number; template: Template | undefined }>()
  return async (sql, name, language) => {
    const key = JSON.stringify([name, language])
    const last = known.get(key)
    if (last && performance.now() - last.at < freshMs) return last.template
    const template = await getTemplate(sql, workspaceId, name, language)
    known.set(key, { at: performance.now(), template })
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

/** Broadcasts that are not over, with what each of them needs. */
async function listOpen(sql: Sql): Promise<Open[]> {
  return sql<Open[]>`
    select b.workspace_id, b.id, b.status, b.status = 'sending' and ${isDone(sql)} as is_done,
      b.status = 'canceled' as is_canceled, b.status = 'sending' and not b.is_filled and not b.is_paused as wants_rows,
      b.status = 'sending' and not b.is_paused and b.started_at is not null and ${hasWork(sql)}
        and not ${isHeldBack(sql)} as has_work
    from broadcasts b cross join lateral (${sumUp(sql)}) n
    where b.completed_at is null and b.status <> 'scheduled'
    order by b.workspace_id, b.id`
}

/** How many there are, by status. */
export function watchBroadcasts(sql: Sql, metrics: Metrics): void {
  metrics.gauge('parley_broadcasts', 'Broadcasts, by status; a paused one is counted as such.', 'status', async () => {
    const rows = await sql<{ status: string; count: number }[]>`
      select case when b.is_paused or b.status = 'sending' and exists (
          select from broadcast_paces p where p.workspace_id = b.workspace_id and p.breaker_state <> 'closed'
        ) then 'paused' else b.status end as status, count(*)::int as count
      from broadcasts b group by 1`
    const none = { scheduled: 0, sending: 0, sent: 0, canceled: 0, paused: 0 }
    return { ...none, ...Object.fromEntries(rows.map(({ status, count }) => [status, count])) }
  })
}
