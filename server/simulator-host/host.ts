/**
 * One simulator for all processes on a database.
 *
 * The address in the built-in connections says which process has it: the host.
 * The others hand on to the host whatever comes to their own `/simulator`, and
 * look every two seconds whether it is still there. When nobody answers, the
 * first that notices moves the connections to itself; of two at once the
 * statement lets one win, and the loser hands on to it. Processes that start at
 * once take turns until they listen, so that none is taken for dead before.
 *
 * What the simulator remembers is in the journal `service` of the folder, which
 * one living process has at a time: whoever takes over in the same folder goes
 * on where the last one ended. Who cannot have it waits a moment, for its owner
 * is about to take over or to end, and then has a journal of its own. Processes
 * with folders of their own have memories of their own.
 *
 * Processes are told apart by how they reach themselves (`localOrigin`), so
 * those on several machines need a HOST that the others can reach.
 */
import { mkdirSync } from 'node:fs'
import {
  type ClientRequest,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
  type ServerResponse,
} from 'node:http'
import { request as httpsRequest } from 'node:https'
import { join } from 'node:path'
import { pipeline } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { urlToHttpOptions } from 'node:url'
import type { FastifyBaseLogger } from 'fastify'
import { createGate, createSimulator, type Simulator, sendControlError } from '../../simulator/simulator.ts'
import type { Connection } from '../channels/channel.ts'
import { getBuiltInConnection, moveBuiltInConnections } from '../channels/connections.ts'
import type { Sealer } from '../lib/crypto.ts'
import type { Db } from '../lib/db.ts'
import { claimFile } from '../lib/exclusive.ts'
import type { Health } from '../lib/health.ts'
import { startRepeating } from '../lib/loop.ts'
import { graphUrl, listRecentCustomers, loadSimulatorAccounts } from './accounts.ts'

export type SimulatorHost = Simulator & {
  /** We listen: the next process that starts may look. */
  letOthersStart(): Promise<void>
}

type Hosting = {
  db: Db
  sealer: Sealer
  log: FastifyBaseLogger
  health: Health
  dataDir: string
  /** How this process is reached. */
  origin: string
  /** How browsers reach it. */
  publicUrl: string
  /** More than this machine reaches it. */
  isExposed: boolean
}

const everyMs = 2_000
const probeMs = 1_000

/** For a host that may only be busy, and for the owner of the journal, who has four seconds to end. */
const patienceMs = 6_000

/** Any number will do, as long as nothing else of ours locks it. */
const startLock = 7_263_552

/** On what one process hands on to another, which keeps it: nothing goes in circles. */
const handedOn = 'x-simulator-handed-on'

export async function startSimulatorHost(hosting: Hosting): Promise<SimulatorHost> {
  const { db, sealer, log, health, dataDir, origin, publicUrl, isExposed } = hosting
  const gate = createGate({ origins: () => [origin, new URL(publicUrl).origin] })
  const dir = join(dataDir, 'simulator')
  const here = graphUrl(`${origin}/simulator`)
  let host: 'here' | URL | undefined
  let missingSince: number | undefined
  let simulator: Simulator | undefined
  let releaseJournal = () => {}

  /** Our own simulator, unless another process has the journal. */
  async function openSimulator(name: string): Promise<boolean> {
    if (simulator) return true
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    const claim = claimFile(join(dir, `${name}.lock`))
    if (!claim.ok) return false
    releaseJournal = claim.release
    simulator = await createSimulator({
      dir,
      name,
      publicUrl: origin,
      browserUrl: publicUrl,
      isPrivate: !isExposed,
      loadAccounts: () => loadSimulatorAccounts(db, sealer, origin),
      loadCustomers: () => listRecentCustomers(db),
      log,
    })
    return true
  }

  /** Our own simulator, with the first journal that is free. */
  async function requireSimulator(): Promise<void> {
    let isOpen = await openSimulator('service')
    for (let number = 2; !isOpen; number++) isOpen = await openSimulator(`service-${number}`)
  }

  async function look(): Promise<void> {
    const stored = await getBuiltInConnection(db, sealer)
    if (!stored || stored.base_url === here) {
      await requireSimulator()
      // Some may have been connected while the simulator was elsewhere.
      if (stored) await moveBuiltInConnections(db, here)
      return settle('here')
    }
    const found = await probe(stored)
    if (found === 'host') return settle(new URL(stored.base_url))
    missingSince ??= performance.now()
    const isOverdue = performance.now() - missingSince >= patienceMs
    const isNext = found === 'nobody' && (await openSimulator('service'))
    if (!isNext && !isOverdue) return
    await requireSimulator()
    const moved = await moveBuiltInConnections(db, here, stored.base_url)
    if (moved > 0) log.info({ from: stored.base_url, to: here }, 'the simulator is here now')
    // Or somebody was faster.
    return look()
  }

  function settle(found: 'here' | URL) {
    host = found
    missingSince = undefined
  }

  const turn = await db.reserve()
  await turn`select pg_advisory_lock(${startLock})`
  for (await look(); !host; await look()) await sleep(200)
  // It may have been the host before, with reports that are not out yet.
  if (host !== 'here') await openSimulator('service')
  const looking = startRepeating({ name: 'simulator-host', everyMs, log, health, run: look })

  return {
    handle(request, response) {
      if (host instanceof URL && request.headers[handedOn] === undefined) {
        const refusal = gate(request)
        if (refusal) sendControlError(response, refusal)
        else handOn(host, request, response)
      } else if (simulator) simulator.handle(request, response)
      else refuse(response, 'there is no simulator in this process')
    },
    async letOthersStart() {
      await turn`select pg_advisory_unlock(${startLock})`
      turn.release()
    },
    async stop() {
      await looking.stop()
      await simulator?.stop()
      releaseJournal()
    },
  }
}

/** `silent`: somebody may be there who is busy. */
type Found = 'host' | 'nobody' | 'silent'

/** Whether there is a simulator that knows this connection; one of another database does not. */
export function probe({ base_url, api_version, account_id, access_token }: Connection): Promise<Found> {
  const url = new URL(`${base_url}/${api_version}/${account_id}?fields=id`)
  // Without a token, which was sealed with another key, we see a simulator by its refusal.
  const headers = access_token ? { authorization: `Bearer ${access_token}` } : {}
  return new Promise((resolve) => {
    const asked = ask(url, { headers })
    const timer = setTimeout(() => {
      resolve('silent')
      asked.destroy()
    }, probeMs)
    asked.once('close', () => clearTimeout(timer))
    asked.once('error', () => resolve('nobody'))
    asked.once('response', (answer) => {
      resolve(answer.statusCode === (access_token ? 200 : 401) ? 'host' : 'nobody')
      answer.resume()
    })
    asked.end()
  })
}

/** Ask the host in the caller's place, and answer as it does. The caller's `Origin` was checked here, against our names. */
export function handOn(host: URL, request: IncomingMessage, response: ServerResponse): void {
  const { method = 'GET', url = '/' } = request
  const asked = ask(new URL(url, host), { method, path: url, headers: endToEnd(request.headers) })
  asked.once('response', (answer) => {
    response.writeHead(answer.statusCode ?? 502, endToEnd(answer.headers))
    // A stream may have nothing to say for long.
    response.flushHeaders()
    pipeline(answer, response, () => {})
  })
  asked.once('error', (error) => {
    if (response.headersSent) response.destroy()
    else refuse(response, `the simulator is at ${host.origin}, where nobody answers: ${error.message}`)
  })
  response.once('close', () => asked.destroy())
  request.pipe(asked)
}

/** A connection for each: one kept for later may be closed in the moment it is used. Certificates are the process's own. */
function ask(url: URL, options: RequestOptions): ClientRequest {
  const headers = { ...options.headers, host: url.host, [handedOn]: '1' }
  const all = { ...urlToHttpOptions(url), ...options, headers, agent: false, rejectUnauthorized: false }
  return url.protocol === 'https:' ? httpsRequest(all) : httpRequest(all)
}

/** Headers without those that are about the connection they came on, and without `Origin`. */
function endToEnd({
  connection: _,
  'keep-alive': __,
  upgrade: ___,
  expect: ____,
  origin: _____,
  ...headers
}: IncomingHttpHeaders) {
  return headers
}

function refuse(response: ServerResponse, message: string): void {
  const json = JSON.stringify({ error: { code: 'simulator_unreachable', message } })
  response.writeHead(502, { 'content-type': 'application/json; charset=utf-8' }).end(json)
}
