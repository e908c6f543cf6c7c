/**
 * The process `simulator`: one built-in simulator for all services on a database.
 *
 * Each service has such a process. The one that has an advisory lock of the database, the host, runs the simulator, and the built-in
 * connections have the address of its service. The others forward requests to that address and poll for the lock. PostgreSQL releases
 * it when the host ends, and after six seconds when the host stands still or its machine is gone. Then another process takes over and
 * moves the connections to its service.
 *
 * The takeover keeps the demo working when one of several services is killed. Without it every send fails until it is restarted.
 *
 * The journal belongs to the folder, and a kernel-held lock gives it to one process at a time. A process that takes over in the same
 * folder continues with the journal; services with folders of their own have journals of their own. Services are identified by their
 * own address (`localOrigin`), so services on several machines need a HOST that the others can reach.
 */
import { mkdirSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import type { Times } from '../../common/times.ts'
import { createGate, createSimulator, type Simulator, sendControlError } from '../../simulator/simulator.ts'
import { getBuiltInUrl, moveBuiltInConnections } from '../channels/connections.ts'
import type { Sealer } from '../lib/crypto.ts'
import type { Db } from '../lib/postgres/db.ts'
import { claimFile } from '../lib/process/exclusive.ts'
import type { Health } from '../lib/process/health.ts'
import { startRepeating } from '../lib/process/loop.ts'
import { graphUrl, listRecentCustomers, loadSimulatorAccounts } from './accounts.ts'
import { listDemoHistory } from './demo-history.ts'
import { forwardRequest, isForwarded, sendUnreachable } from './proxy.ts'

type SimulatorHostOptions = {
  /** One connection: its session holds the lock. */
  db: Db
  sealer: Sealer
  log: FastifyBaseLogger
  health: Health
  dataDir: string
  /** The address at which other services reach this one. */
  origin: string
  /** The address at which browsers reach the service. */
  publicUrl: string
  /** Other machines can reach the service. */
  isExposed: boolean
  times: Pick<Times, 'simulatorHost' | 'simulator'>
}

const hostLock = 7_263_556

export async function startSimulatorHost(options: SimulatorHostOptions): Promise<Simulator> {
  const { db, sealer, log, health, dataDir, origin, publicUrl, isExposed } = options
  const { pollMs, retryMs, takeoverMs } = options.times.simulatorHost
  const gate = createGate({ origins: () => [origin, new URL(publicUrl).origin] })
  const dir = join(dataDir, 'simulator')
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  /** Undefined: another process has the lock. */
  let lockedAt: number | undefined
  let simulator: Simulator | undefined
  let releaseJournal = () => {}

  /**
   * Becomes the host, or notices that another process is. A session may take a lock that it has. PostgreSQL ends the session of a host
   * that has not polled for `takeoverMs`. Replaying a long journal takes longer, so this does not apply until the simulator runs.
   */
  async function claim(): Promise<void> {
    const idleMs = simulator ? takeoverMs : 0
    const [row] = await db<{ is_held: boolean }[]>`
      select pg_try_advisory_lock(${hostLock}) as is_held, set_config('idle_session_timeout', ${String(idleMs)}, false)`
    lockedAt = row?.is_held ? (lockedAt ?? performance.now()) : undefined
    if (lockedAt === undefined) return close()
    simulator ??= await open(performance.now() - lockedAt)
    if (!simulator) return
    // Also later: a workspace may have been connected while another process was the host.
    const movedCount = await moveBuiltInConnections(db, graphUrl(`${origin}/simulator`))
    if (movedCount > 0) log.info({ to: origin }, 'this service now runs the simulator')
  }

  async function open(waitedMs: number): Promise<Simulator | undefined> {
    // Of an attempt that failed.
    releaseJournal()
    const journal = claimJournal(waitedMs)
    if (!journal) return undefined
    releaseJournal = journal.release
    return createSimulator({
      dir,
      name: journal.name,
      publicUrl: origin,
      browserUrl: publicUrl,
      isPrivate: !isExposed,
      loadAccounts: () => loadSimulatorAccounts(db, sealer, origin),
      loadCustomers: () => listRecentCustomers(db),
      loadHistory: () => listDemoHistory(db),
      times: options.times.simulator,
      log,
    })
  }

  /**
   * Claims the journal `service`. A killed process may take seconds to end, for example while it writes to the disk, and has the journal
   * until then: with another journal, what this process accepts would be missing after the next start. Only if the owner stays is it a
   * service on another database that uses the same folder, and the next free journal is claimed.
   */
  function claimJournal(waitedMs: number): { name: string; release(): void } | undefined {
    for (let number = 1; ; number++) {
      const name = number === 1 ? 'service' : `service-${number}`
      const claim = claimFile(join(dir, `${name}.lock`))
      if (claim.ok) return { name, release: claim.release }
      if (waitedMs < takeoverMs) return undefined
    }
  }

  async function close(): Promise<void> {
    const closing = simulator
    simulator = undefined
    await closing?.stop()
    releaseJournal()
  }

  async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = isForwarded(request) ? undefined : await getBuiltInUrl(db).catch(() => undefined)
    if (url === undefined) sendUnreachable(response, 'no service runs the simulator at the moment')
    else forwardRequest(new URL(url), request, response)
  }

  for (await claim(); lockedAt !== undefined && !simulator; await claim()) await sleep(retryMs)
  const loop = startRepeating({ name: 'simulator-host', everyMs: pollMs, log, health, run: claim })

  return {
    handle(request, response) {
      if (simulator) return simulator.handle(request, response)
      const refusal = gate(request)
      if (refusal) sendControlError(response, refusal)
      else void forward(request, response)
    },
    async stop() {
      await loop.stop()
      await close()
    },
  }
}
