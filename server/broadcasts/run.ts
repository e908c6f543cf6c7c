/**
 * The engine: start what is due, fill, hand over, send, settle, finish.
 *
 * A driver a workspace hands batches over at its number's pace while there is
 * somebody to hand over; what was handed over is sent at once, and nothing of
 * the database is held meanwhile. Every process that works does so side by
 * side: rows and their locks decide who does what.
 */

import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import type { Channel, Connection, Sent, Template } from '../channels/channel.ts'
import { getConnection } from '../channels/connections.ts'
import { getTemplate } from '../channels/templates.ts'
import { createBrief } from '../lib/brief.ts'
import { SealError, type Sealer } from '../lib/crypto.ts'
import { type Db, type Sql, withRetries } from '../lib/db.ts'
import type { Health } from '../lib/health.ts'
import type { Loop } from '../lib/loop.ts'
import type { Metrics } from '../lib/metrics.ts'
import { within } from '../lib/time.ts'
import { createLedger } from '../messages/outbound.ts'
import { createLearning, isConnectionFault, isTemplateFault, noteSent, toOutcome } from '../messages/send.ts'
import type { FilterFields } from '../segments/filter.ts'
import { finishBroadcast, holdBroadcast, isDone, skipRest, startScheduled } from './broadcasts.ts'
import { hasWork } from './choose.ts'
import { recipientsFollow, sumUp } from './counts.ts'
import { fillBroadcast } from './fill.ts'
import { batchMs, type Handed, type HandingOver, handOver, putBack } from './hand-over.ts'
import { createPace, slowDown } from './pace.ts'

export type Broadcasting = {
  db: Db
  /** A small pool of its own, for handing over. */
  runDb: Db
  /** For settling; a commit lost in a power cut is made up for by the channel's reports. */
  settleDb: Db
  sealer: Sealer
  channel: Channel
  fields: FilterFields
  log: FastifyBaseLogger
  health: Health
  /** Members may be looking at this workspace. */
  announce: (workspaceId: string) => void
  /** There may be deliveries of what was made for a batch. */
  onQueued: () => void
  /** Count a send by what came of it. */
  count?: (outcome: string) => void
}

/** `wake`: there may be something to do. */
export type BroadcastingLoop = Loop & { wake(): void }

/** Something was accepted, resumed or canceled. */
export const broadcastsTopic = 'broadcasts'

/** Sends under way, in all and for one number: below what the client opens to one address (256), so that what members send
 * finds a line, and below the whole, so that a channel that hangs leaves room for others. */
const maxUnderWay = 400
const maxOfNumber = 200
/** A schedule is seen this late at most. */
const pollMs = 500
/** Told to stop, sends under way get this long. */
const graceMs = 5_000
/** A connection or a template is as it was at most this long ago. */
const freshMs = 1_000
const maxFillers = 2
/** Ten sends take the event loop a millisecond. */
const sliceSize = 10

const maxAttempts = 5
const retryMs = 1_000
/** The channel takes one message to a person every six seconds. */
const personRetryMs = 6_000
const tooManyToOnePerson = 131056
/** So many in a row that nobody knows of, or that the connection or the template is to blame for, and the broadcast
 * pauses itself. */
const maxFaultsInARow = 25

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
    db,
    runDb,
    settleDb,
    sealer,
    channel,
    fields,
    log,
    health,
    announce,
    onQueued,
    count = () => {},
  } = broadcasting
  const ledger = createLedger(runDb, settleDb, recipientsFollow)
  const learn = createLearning(runDb)
  const readConnection = createBrief((workspaceId) => getConnection(runDb, sealer, workspaceId, 'msgapp'), freshMs)
  const drivers = new Map<string, Promise<void>>()
  const fillers = new Map<string, Promise<void>>()
  const underWay = new Set<Promise<void>>()
  const underWayOf = new Map<string, number>()
  const faultsInARow = new Map<string, number>()
  let waiting: (() => void)[] = []
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
      faultsInARow.delete(id)
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

  /** Hand over at the number's pace until there is nobody left for the moment. */
  async function drive(workspaceId: string): Promise<void> {
    const first = await readConnection(workspaceId).catch((error) => {
      if (!(error instanceof SealError)) throw error
    })
    if (!first) return holdAll(workspaceId, 'the workspace has no msgapp connection that can be used')
    const readTemplate = createTemplateReader(workspaceId)
    let paced: string | undefined
    while (!stopped) {
      const connection = await readConnection(workspaceId)
      if (!connection) return holdAll(workspaceId, 'the workspace has no msgapp connection')
      // One that took the place of another has no pace yet, and what is not there looks as if somebody held it.
      if (connection.id !== paced) await createPace(runDb, connection)
      paced = connection.id
      const limit = Math.min(maxUnderWay - underWay.size, maxOfNumber - (underWayOf.get(workspaceId) ?? 0))
      if (limit <= 0) {
        await new Promise<void>((resolve) => waiting.push(resolve))
        continue
      }
      const handing = { connection, channel, limit, getTemplate: readTemplate }
      const batch = await withRetries(() => handOver(runDb, handing))
      if (batch.kind === 'idle') return
      if (batch.kind === 'stuck') {
        await holdBroadcast(db, workspaceId, batch.broadcastId, batch.reason)
        continue
      }
      if (batch.kind === 'handed' && batch.handed.length > 0) {
        await beginAll(connection, batch.handed)
        announce(workspaceId)
        onQueued()
      }
      await sleep(batch.kind === 'handed' ? batch.waitMs : batchMs)
    }
  }

  async function holdAll(workspaceId: string, reason: string): Promise<void> {
    for (const { workspace_id, id, status } of await listOpen(db)) {
      if (workspace_id === workspaceId && status === 'sending') await holdBroadcast(db, workspaceId, id, reason)
    }
  }

  /** At once, but a few at a time: whoever calls meanwhile is heard in between. */
  async function beginAll(connection: Connection, all: readonly Handed[]): Promise<void> {
    for (const [i, handed] of all.entries()) {
      if (i > 0 && i % sliceSize === 0) await nextTurn()
      begin(connection, handed)
    }
  }

  function begin(connection: Connection, handed: Handed): void {
    const { workspace_id } = connection
    const run = send(connection, handed)
      .catch((error) => log.error({ err: error }, 'what became of a send could not be kept; reports will tell'))
      .finally(() => {
        underWay.delete(run)
        const left = (underWayOf.get(workspace_id) ?? 1) - 1
        if (left > 0) underWayOf.set(workspace_id, left)
        else underWayOf.delete(workspace_id)
        wakeWaiting()
      })
    underWay.add(run)
    underWayOf.set(workspace_id, (underWayOf.get(workspace_id) ?? 0) + 1)
  }

  function wakeWaiting(): void {
    const woken = waiting
    waiting = []
    for (const resolve of woken) resolve()
  }

  async function send(connection: Connection, handed: Handed): Promise<void> {
    const { workspace_id } = connection
    const { broadcast_id, contact_id, conversation_id, outgoing } = handed
    const sent = await channel.send(connection, outgoing)
    const isThrottled = !sent.ok && sent.outcome === 'rejected' && sent.again
    const outcome = sent.ok ? 'sent' : isThrottled ? 'throttled' : sent.outcome
    count(outcome)
    if (outcome === 'unknown' || (isThrottled && sent.code !== tooManyToOnePerson)) {
      await slowDown(runDb, connection, handed.handed_at)
    }
    if (isThrottled && handed.attempt < maxAttempts) {
      const afterMs = (sent.code === tooManyToOnePerson ? personRetryMs : retryMs) * 2 ** (handed.attempt - 1)
      await putBack(runDb, workspace_id, handed, afterMs * (0.8 + Math.random() * 0.4), sent.message)
      return
    }
    await ledger.settle(toOutcome({ workspace_id, conversation_id, id: outgoing.message_id }, sent))
    await noteSent(runDb, connection, contact_id, outgoing.to, sent, learn)
    await noteFault(workspace_id, broadcast_id, sent)
    announce(workspace_id)
  }

  /** Whatever goes wrong with everybody is not tried on everybody. */
  async function noteFault(workspaceId: string, id: string, sent: Sent): Promise<void> {
    if (sent.ok || !(sent.outcome === 'unknown' || isConnectionFault(sent) || isTemplateFault(sent))) {
      faultsInARow.delete(id)
      return
    }
    const faults = (faultsInARow.get(id) ?? 0) + 1
    faultsInARow.set(id, faults)
    if (faults < maxFaultsInARow) return
    faultsInARow.delete(id)
    const reason = `the last ${faults} sends failed: ${sent.message}`
    await holdBroadcast(db, workspaceId, id, reason)
    log.warn({ workspace: workspaceId, broadcast: id, reason }, 'a broadcast paused itself')
  }

  async function end(): Promise<void> {
    await looking
    await Promise.all([...drivers.values(), ...fillers.values()])
    await Promise.all(underWay)
  }

  let stopping: Promise<unknown> | undefined
  wake()
  return {
    wake,
    async stop() {
      stopped = true
      clearInterval(poll)
      wakeWaiting()
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
      b.status = 'sending' and not b.is_paused and b.started_at is not null and ${hasWork(sql)} as has_work
    from broadcasts b cross join lateral (${sumUp(sql)}) n
    where b.completed_at is null and b.status <> 'scheduled'
    order by b.workspace_id, b.id`
}

/** How many there are, by status. */
export function watchBroadcasts(sql: Sql, metrics: Metrics): void {
  metrics.gauge('parley_broadcasts', 'Broadcasts, by status; a paused one is counted as such.', 'status', async () => {
    const rows = await sql<{ status: string; count: number }[]>`
      select case when is_paused then 'paused' else status end as status, count(*)::int as count
      from broadcasts group by 1`
    const none = { scheduled: 0, sending: 0, sent: 0, canceled: 0, paused: 0 }
    return { ...none, ...Object.fromEntries(rows.map(({ status, count }) => [status, count])) }
  })
}
