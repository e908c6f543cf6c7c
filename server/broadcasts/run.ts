/**
 * The broadcast loop: the life of a broadcast. It polls every 500 ms and when a signal wakes it. `poll.ts` gives each broadcast
 * that is not completed one of these states, and `advance` does what is next:
 *
 *   due       Its scheduled time has come: start it. It is missed after a day and waits for a member.
 *   filling   Its segment becomes recipients, in chunks (`fill.ts`). Those that exist are handed over meanwhile.
 *   sending   Recipients can be handed over: the driver of the number sends to them (`driver.ts`).
 *   waiting   Nothing to do. It is paused, or the circuit breaker is open, or recipients wait for a retry or an outcome.
 *   canceled  The remaining recipients are skipped, in chunks.
 *   done      No recipient is pending: write `completed_at`.
 *
 * Any number of processes run this loop; row locks decide which process does what.
 */
import type { Connection } from '../channels/channel.ts'
import { getConnection, getConnectionById } from '../channels/connections.ts'
import { createCoalescer } from '../lib/coalescer.ts'
import { SealError, type Sealer } from '../lib/crypto.ts'
import type { Db, Sql } from '../lib/postgres/db.ts'
import type { Health } from '../lib/process/health.ts'
import type { Loop } from '../lib/process/loop.ts'
import type { Polls } from '../lib/process/polls.ts'
import { within } from '../lib/time.ts'
import { createTtlCache } from '../lib/ttl-cache.ts'
import { createAnswerRecorder } from '../messages/sending/dispatch.ts'
import { createSettler } from '../messages/sending/settle.ts'
import type { FilterFields } from '../segments/filter.ts'
import { finishBroadcast, pauseWithReason, skipRemaining, startScheduled } from './broadcasts.ts'
import { maxFailures } from './circuit-breaker.ts'
import { recipientFollower } from './counts.ts'
import { Driver, type DriverContext } from './driver.ts'
import { fillBroadcast } from './fill.ts'
import { createInFlight } from './in-flight.ts'
import { hasOpen, listOpen, type OpenBroadcast } from './poll.ts'

export type BroadcastContext = Pick<DriverContext, 'channel' | 'log' | 'signals' | 'times'> & {
  pools: { general: Db; broadcasts: Db; settle: Db }
  sealer: Sealer
  fields: FilterFields
  publicUrl: string
  health: Health
  polls: Polls
  count?: DriverContext['count']
  /** Consecutive failures that open the circuit breaker; the documented number when absent. */
  failuresToOpen?: number | undefined
}

/** `wake`: poll now, because a broadcast may have work. */
export type BroadcastLoop = Loop & { wake(): void }

const maxFillers = 2

export function startBroadcasts(context: BroadcastContext): BroadcastLoop {
  const {
    pools,
    sealer,
    channel,
    fields,
    publicUrl,
    log,
    health,
    polls,
    times,
    count = () => {},
    failuresToOpen = maxFailures,
  } = context
  const { general: db } = pools
  /** By connection. */
  const drivers = new Map<string, Driver>()
  /** What runs in the background: the drivers by connection, filling by broadcast. */
  const driving = new Map<string, Promise<void>>()
  const filling = new Map<string, Promise<void>>()
  const inFlight = createInFlight()
  const coalesce = createCoalescer()
  let polling = Promise.resolve()
  let isStopped = false
  // A run lasts as long as its broadcast.
  const progressed = () => health.progressed('broadcast-sends')
  const readStored = (key: string) => {
    const [workspaceId = '', id = ''] = key.split(' ')
    return getUsableConnection(db, sealer, workspaceId, id)
  }
  const driverContext: DriverContext = {
    ...context,
    count,
    policy: { failuresToOpen, ...times.breaker },
    readStored,
    readConnection: createTtlCache(readStored, times.cacheMs),
    settle: createSettler(pools.settle, { publicUrl, follower: recipientFollower }),
    recordAnswer: createAnswerRecorder(pools.broadcasts),
    onHandOver: progressed,
    inFlight,
    wake,
    isStopped: () => isStopped,
  }

  function wake(): void {
    if (isStopped) return
    polling = coalesce('poll', poll).catch((error) =>
      log.error({ err: error }, 'broadcasts could not be polled; the next poll tries again'),
    )
  }

  async function poll(): Promise<void> {
    const open = await listOpen(db)
    for (const broadcast of open) if (!isStopped) await advance(broadcast)
    forgetDrivers(new Set(open.map(({ connection_id }) => connection_id)))
  }

  /** Does what the broadcast needs next. Filling and sending go on after this returns. */
  async function advance(broadcast: OpenBroadcast): Promise<void> {
    const { workspace_id: workspaceId, id, connection_id: connectionId, state } = broadcast
    switch (state) {
      case 'due':
        await startScheduled(db, workspaceId, id)
        return wake()
      case 'filling':
        if (filling.size < maxFillers) runOnce(filling, id, () => fill(workspaceId, id))
        return runOnce(driving, connectionId ?? id, () => drive(broadcast))
      case 'sending':
        return runOnce(driving, connectionId ?? id, () => drive(broadcast))
      case 'waiting':
        return
      case 'canceled':
        if (await skipRemaining(db, workspaceId, id)) wake()
        return finishBroadcast(db, workspaceId, id)
      case 'done':
        return finishBroadcast(db, workspaceId, id)
    }
  }

  function fill(workspaceId: string, id: string): Promise<void> {
    const onChunk = () => {
      progressed()
      wake()
    }
    return fillBroadcast({ db, channel, fields, workspaceId, id, onChunk, isStopped: () => isStopped })
  }

  async function drive({ workspace_id: workspaceId, id, connection_id: connectionId }: OpenBroadcast): Promise<void> {
    const connection = connectionId ? await driverContext.readConnection(`${workspaceId} ${connectionId}`) : undefined
    if (!connection) {
      const hasAnother = await getConnection(db, sealer, workspaceId, 'msgapp').catch(() => undefined)
      const reason = hasAnother
        ? 'Its number is disconnected or cannot be used.'
        : 'The workspace has no usable msgapp connection.'
      await pauseWithReason(db, workspaceId, id, reason)
      return wake()
    }
    const driver = drivers.get(connection.id) ?? new Driver(driverContext, workspaceId)
    drivers.set(connection.id, driver)
    await driver.run(connection)
  }

  /** Starts a task in the background, one per key at a time. */
  function runOnce(running: Map<string, Promise<void>>, key: string, run: () => Promise<void>): void {
    if (running.has(key)) return
    const ended = health
      .watch('broadcast-sends', run)
      .catch((error) => log.error({ err: error }, 'a broadcast stopped with an error; the next poll continues it'))
      .finally(() => running.delete(key))
    running.set(key, ended)
  }

  /** Drops the drivers of numbers without an open broadcast: they have no send in flight. */
  function forgetDrivers(connectionIds: ReadonlySet<string | null>): void {
    for (const id of drivers.keys()) if (!connectionIds.has(id) && !driving.has(id)) drivers.delete(id)
  }

  async function end(): Promise<void> {
    await polling
    // Ends the drivers that wait for capacity. The second call waits for the sends that they started meanwhile.
    void inFlight.stop()
    await Promise.all([...driving.values(), ...filling.values()])
    await inFlight.stop()
  }

  const polled = polls.add({
    ...{ name: 'broadcasts', everyMs: times.pollMs, isDue: hasOpen },
    run: () => coalesce('poll', poll),
    rest: () => forgetDrivers(new Set()),
  })
  let stopping: Promise<unknown> | undefined
  wake()
  return {
    wake,
    async stop() {
      isStopped = true
      stopping ??= within(times.stopMs, Promise.all([polled.stop(), end()]))
      await stopping
    },
  }
}

/** Undefined also when the encryption key does not open the secrets of the connection. */
async function getUsableConnection(
  sql: Sql,
  sealer: Sealer,
  workspaceId: string,
  id: string,
): Promise<Connection | undefined> {
  try {
    return await getConnectionById(sql, sealer, workspaceId, id)
  } catch (error) {
    if (error instanceof SealError) return undefined
    throw error
  }
}
