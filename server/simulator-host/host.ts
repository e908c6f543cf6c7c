/**
 * One built-in simulator for all processes on a database.
 *
 * The address in the built-in connections names the process that runs it: the
 * host. The other processes proxy their own `/simulator` to the host and probe
 * it every two seconds. When the host does not answer, the first process that
 * notices takes over and moves the connections to itself.
 *
 * The takeover keeps the demo working when one of several processes is killed:
 * the next send was accepted 0.4 to 2.9 s after the kill. Without it every
 * send fails until a process is restarted.
 *
 * The journal belongs to the folder, and a kernel-held lock gives it to one
 * process at a time. A process that takes over in the same folder continues
 * with the journal; processes with folders of their own have journals of their
 * own. Processes are identified by their own address (`localOrigin`), so
 * processes on several machines need a HOST that the others can reach.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import type { Times } from '../../common/times.ts'
import { createGate, createSimulator, type Simulator, sendControlError } from '../../simulator/simulator.ts'
import { getBuiltInConnection, moveBuiltInConnections } from '../channels/connections.ts'
import type { Sealer } from '../lib/crypto.ts'
import type { Db } from '../lib/db.ts'
import { claimFile } from '../lib/exclusive.ts'
import type { Health } from '../lib/health.ts'
import { startRepeating } from '../lib/loop.ts'
import { graphUrl, listRecentCustomers, loadSimulatorAccounts } from './accounts.ts'
import { isProxied, probe, proxyRequest, sendUnreachable } from './proxy.ts'

export type SimulatorHost = Simulator & {
  /** Call it when this process listens: the next starting process may then probe it. */
  releaseStartLock(): Promise<void>
}

type SimulatorHostOptions = {
  db: Db
  sealer: Sealer
  log: FastifyBaseLogger
  health: Health
  dataDir: string
  /** The address at which other processes reach this one. */
  origin: string
  /** The address at which browsers reach the service. */
  publicUrl: string
  /** Other machines can reach the service. */
  isExposed: boolean
  times: Pick<Times, 'simulatorHost' | 'simulator'>
}

/** Processes start one after the other, so that none probes a host that does not listen yet. */
const startLock = 7_263_552

export async function startSimulatorHost(options: SimulatorHostOptions): Promise<SimulatorHost> {
  const { db, sealer, log, health, dataDir, origin, publicUrl, isExposed } = options
  const times = options.times.simulatorHost
  const gate = createGate({ origins: () => [origin, new URL(publicUrl).origin] })
  const dir = join(dataDir, 'simulator')
  const ownUrl = graphUrl(`${origin}/simulator`)
  let host: 'here' | URL | undefined
  let silentSince: number | undefined
  let simulator: Simulator | undefined
  let releaseJournal = () => {}

  /** Returns false when another process has the journal. */
  async function openSimulator(journal: string): Promise<boolean> {
    if (simulator) return true
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    const claim = claimFile(join(dir, `${journal}.lock`))
    if (!claim.ok) return false
    releaseJournal = claim.release
    simulator = await createSimulator({
      dir,
      name: journal,
      publicUrl: origin,
      browserUrl: publicUrl,
      isPrivate: !isExposed,
      loadAccounts: () => loadSimulatorAccounts(db, sealer, origin),
      loadCustomers: () => listRecentCustomers(db),
      times: options.times.simulator,
      log,
    })
    return true
  }

  /**
   * Opens the journal `service`. A killed process may take seconds to end, for example while it writes to the disk, and has the journal
   * until then: with another journal, what this process accepts would be missing after the next start. Only if the owner stays is it a
   * service on another database that uses the same folder, and the next free journal is opened.
   */
  async function openAnySimulator(): Promise<void> {
    const deadline = performance.now() + times.takeoverMs
    let isOpen = await openSimulator('service')
    for (; !isOpen && performance.now() < deadline; isOpen = await openSimulator('service')) await sleep(times.retryMs)
    for (let number = 2; !isOpen; number++) isOpen = await openSimulator(`service-${number}`)
  }

  /** Finds the host, or becomes it. `host` stays undefined while neither is possible. */
  async function findHost(): Promise<void> {
    const stored = await getBuiltInConnection(db, sealer)
    if (!stored || stored.base_url === ownUrl) {
      await openAnySimulator()
      // A workspace may have been connected while another process was the host.
      if (stored) await moveBuiltInConnections(db, ownUrl)
      silentSince = undefined
      host = 'here'
      return
    }
    const found = await probe(stored, times)
    if (found === 'answers') {
      silentSince = undefined
      host = new URL(stored.base_url)
      return
    }
    silentSince ??= performance.now()
    const isOverdue = performance.now() - silentSince >= times.takeoverMs
    // The process that has the journal `service` takes over first.
    const isNext = found === 'absent' && (await openSimulator('service'))
    if (!isNext && !isOverdue) return
    await openAnySimulator()
    const movedCount = await moveBuiltInConnections(db, ownUrl, stored.base_url)
    // Of several processes that take over at once, the statement lets one win; the others find it now.
    if (movedCount === 0) return findHost()
    silentSince = undefined
    host = 'here'
    log.info({ from: stored.base_url, to: ownUrl }, 'this process now runs the simulator')
  }

  const startConnection = await db.reserve()
  await startConnection`select pg_advisory_lock(${startLock})`
  for (await findHost(); !host; await findHost()) await sleep(times.retryMs)
  const loop = startRepeating({ name: 'simulator-host', everyMs: times.pollMs, log, health, run: findHost })

  return {
    handle(request, response) {
      if (host instanceof URL && !isProxied(request)) {
        const refusal = gate(request)
        if (refusal) sendControlError(response, refusal)
        else proxyRequest(host, request, response)
      } else if (simulator) simulator.handle(request, response)
      else sendUnreachable(response, 'this process does not run the simulator')
    },
    async releaseStartLock() {
      await startConnection`select pg_advisory_unlock(${startLock})`
      startConnection.release()
    },
    async stop() {
      await loop.stop()
      await simulator?.stop()
      releaseJournal()
    },
  }
}
