/**
 * A simulator of the provider: both of its channels, with a memory.
 *
 * It stands for somebody else's machine, so it shares no code with the service
 * and talks to it by HTTP only. What it accepted is in its journal before it
 * answers; after a restart it goes on with the reports of what it accepted and
 * with callbacks that nobody took.
 */
import { mkdirSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { isLoopbackHost } from '../common/address.ts'
import { drawSent } from './control/bubbles.ts'
import { handleControl } from './control/control.ts'
import { createCallbacks } from './delivery/callbacks.ts'
import { type InFlight, ranks, type Status, socialBody, startStatuses, statusBody } from './delivery/statuses.ts'
import { createGate } from './gate.ts'
import { handleGraph } from './graph/graph.ts'
import { handleLookaside } from './graph/media.ts'
import { sendMedia, sendNothing, sendPage } from './page.ts'
import { createReplay } from './replay.ts'
import { type Channel, createAccounts, type SimulatorAccount } from './state/accounts.ts'
import { createDownloads } from './state/downloads.ts'
import { createFaults } from './state/faults.ts'
import { openJournal } from './state/journal.ts'
import { createMediaStore } from './state/media.ts'
import { type Bubble, createPhones, type PhoneEntry } from './state/phones.ts'
import { createBucket, defaultQuotas, type Quotas } from './state/quotas.ts'
import { createSent } from './state/sent-messages.ts'
import { shownError } from './wire/errors.ts'
import { type Json, queryOf, sendControlError } from './wire/http.ts'
import { keyOf, waIdOf } from './wire/ids.ts'
import { noteCustomer, type World } from './world.ts'

export { createGate } from './gate.ts'
export type { SimulatorAccount } from './state/accounts.ts'
export { sendControlError } from './wire/http.ts'

export type Log = {
  info(o: object, m?: string): void
  warn(o: object, m?: string): void
  error(o: object, m?: string): void
}

export type Simulator = {
  /** Handles every request whose path starts with /simulator. Reads the body itself. */
  handle(request: IncomingMessage, response: ServerResponse): void
  stop(): Promise<void>
}

type Options = {
  /** Folder of the journal; file names carry `name`, so that two processes may share the folder. */
  dir: string
  name: string
  /** Origin under which the service reaches /simulator. */
  publicUrl: string | (() => string)
  /** Origin under which browsers reach it, when that is another one. */
  browserUrl?: string
  /** Host names and addresses under which it is reached besides. */
  hostnames?: readonly string[]
  /**
   * Only programs of this machine reach the simulator, so it may download files from this machine: a caller could read
   * them as well. Without it, it downloads from public addresses and its own origins only.
   */
  isPrivate?: boolean
  /** Built in: where accounts come from. Absent: alone; accounts are registered and kept in the folder. */
  loadAccounts?: () => Promise<SimulatorAccount[]>
  /** Who wrote to them lately, whatever the journal says: asked once, at the start. */
  loadCustomers?: () => Promise<KnownCustomer[]>
  log: Log
  quotas?: Partial<Quotas>
}

/** `id`: a number in E.164, or a user id. */
export type KnownCustomer = {
  workspace_id: string
  channel: Channel
  id: string
  name: string | null
  username: string | null
  last_inbound_at: string
}

const flushMs = 1_000

export async function createSimulator(options: Options): Promise<Simulator> {
  const {
    dir,
    name,
    publicUrl,
    browserUrl,
    hostnames = [],
    isPrivate = false,
    loadAccounts,
    loadCustomers,
    log,
  } = options
  const quotas = { ...defaultQuotas, ...options.quotas }
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const origin = typeof publicUrl === 'string' ? () => publicUrl : publicUrl
  const accounts = createAccounts(
    join(dir, loadAccounts ? `${name}-accounts.json` : 'accounts.json'),
    loadAccounts,
    () => browserUrl ?? origin(),
  )
  const sent = createSent()
  const media = createMediaStore({
    dir: join(dir, `${name}-media`),
    publicUrl: origin,
    quotas,
    record: (line) => journal.append(line),
  })
  const origins = () => (browserUrl === undefined ? [origin()] : [origin(), new URL(browserUrl).origin])
  const gate = createGate({ origins, hostnames })
  const isOnThisMachine = (url: string) => isPrivate && isLoopbackHost(new URL(url).hostname)
  const downloads = createDownloads({
    isAllowedOrigin: (url) => origins().includes(url) || isOnThisMachine(url),
    quotas,
  })
  const phones = createPhones(draw, quotas.streams)
  const replay = createReplay({ accounts, sent, media })
  const startedAt = Date.now()
  const journal = openJournal(join(dir, `${name}.jsonl`), quotas.journalBytes, log, replay.line)
  if (sent.size > 0) log.info({ messages: sent.size, ms: Date.now() - startedAt }, 'the simulator read its journal')

  const callbacks = createCallbacks<InFlight>({
    journal,
    log,
    write: (state, batch) => (state.channel === 'social' ? socialBody(state, batch) : statusBody(state, batch)),
  })
  const statuses = startStatuses(callbacks, happened)
  let callbackCount = replay.callbackCount()
  const world: World = {
    log,
    publicUrl: origin,
    isAlone: loadAccounts === undefined,
    accounts,
    journal,
    sent,
    faults: createFaults(quotas.faults),
    callbacks,
    statuses,
    phones,
    media,
    downloads,
    quotas,
    takeControlCall: createBucket(quotas.controlCallsPerSecond),
    hanging: new Set(),
    nextCallback: () => ++callbackCount,
  }
  await accounts.refresh().catch((error) => log.warn({ err: error }, 'the simulator cannot read its accounts yet'))
  const customers = await loadCustomers?.().catch((error) => {
    log.warn({ err: error }, 'the simulator cannot read who wrote lately')
  })
  for (const { workspace_id, channel, id, last_inbound_at, ...who } of customers ?? []) {
    const key = channel === 'msgapp' ? waIdOf(keyOf(id)) : id
    noteCustomer(accounts.resolveState(workspace_id, channel), key, Date.parse(last_inbound_at), who)
  }
  replay.goOn(world)
  // Reports wait while their account is not known; a second later it may be.
  const flushing = setInterval(() => callbacks.flush(), flushMs).unref()

  function happened({ entry }: InFlight, status: Status, code: number | undefined) {
    if (!entry || ranks[status] <= ranks[entry.status]) return
    phones.setStatus(entry, status, shownError(code))
  }

  function draw(entry: PhoneEntry): Bubble {
    const line = JSON.parse(journal.read(entry)) as { bubble: Bubble; at: string; body: Json }
    const { id, from, status, error, phone } = entry
    if (from === 'customer') return { ...line.bubble, status, error }
    const state = accounts.resolveState(phone.workspace_id, phone.channel)
    return { id, from, at: line.at, status, error, ...drawSent(state, line.body, media) }
  }

  function handle(request: IncomingMessage, response: ServerResponse) {
    const { url = '' } = request
    const refusal = gate(request)
    if (refusal) return sendControlError(response, refusal)
    if (url.startsWith('/simulator/graph/')) return handleGraph(world, request, response)
    void handleRest(request, response, url.split('?')[0] ?? '')
  }

  async function handleRest(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    try {
      if (path.startsWith('/simulator/control/')) return await handleControl(world, draw, request, response)
      if (path === '/simulator/lookaside') return handleLookaside(world, request, response)
      if (request.method !== 'GET' && request.method !== 'HEAD') return sendNothing(response)
      if (path === '/simulator' || path === '/simulator/') return await sendPage('index.html', response)
      const [, folder, file = ''] = /^\/simulator\/(phone|media)\/([^/]+)$/.exec(path) ?? []
      if (folder === 'phone') return await sendPage(file, response)
      if (folder === 'media') return sendMedia(media, file, queryOf(request.url ?? ''), response)
      sendNothing(response)
    } catch (error) {
      log.error({ err: error, path }, 'the simulator failed')
      response.destroy()
    }
  }

  return {
    handle,
    async stop() {
      clearInterval(flushing)
      statuses.stop()
      phones.stop()
      for (const response of world.hanging) response.socket?.destroy()
      await callbacks.stop()
      await downloads.stop()
      await journal.stop()
    },
  }
}
