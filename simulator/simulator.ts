/**
 * A simulator of the provider with both of its channels and persistent state.
 *
 * It stands for a third party's service, so it shares no code with ours except
 * `common/` and communicates by HTTP only. The journal holds every accepted
 * message before the caller gets its answer. After a restart the simulator
 * resumes status reports, and callbacks that the service did not accept.
 */
import { mkdirSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { isLoopbackHost } from '../common/address.ts'
import type { Times } from '../common/times.ts'
import { renderBubble } from './control/bubbles.ts'
import { handleControl } from './control/control.ts'
import { createCallbacks } from './delivery/callbacks.ts'
import {
  formatSocialReports,
  formatStatuses,
  type InFlightMessage,
  ranks,
  type Status,
  startStatuses,
} from './delivery/statuses.ts'
import { createGate } from './gate.ts'
import { handleGraph } from './graph/graph.ts'
import { handleLookaside, sendMedia } from './graph/media.ts'
import { sendPage } from './page.ts'
import { createReplay } from './replay.ts'
import { type Channel, createAccounts, recordCustomer, recordUserId, type SimulatorAccount } from './state/accounts.ts'
import { createDownloads } from './state/downloads.ts'
import { createFaults } from './state/faults.ts'
import { openJournal } from './state/journal.ts'
import type { Log } from './state/log.ts'
import { createMediaStore } from './state/media.ts'
import { createPhones, type PastPhone } from './state/phones.ts'
import { createBucket, defaultQuotas, type Quotas } from './state/quotas.ts'
import { createSentMessages } from './state/sent-messages.ts'
import { phoneError } from './wire/errors.ts'
import { queryOf, sendControlError, sendNotFound } from './wire/http.ts'
import { keyOf, userIdPattern, waIdOf, wireJson } from './wire/ids.ts'
import type { World } from './world.ts'

export { createGate } from './gate.ts'
export type { SimulatorAccount } from './state/accounts.ts'
export type { PastPhone } from './state/phones.ts'
export type { Bubble, RenderedTemplate } from './wire/bubble.ts'
export { sendControlError } from './wire/http.ts'

export type Simulator = {
  /** Handles requests whose path starts with /simulator. Expects the body unread. */
  handle(request: IncomingMessage, response: ServerResponse): void
  stop(): Promise<void>
}

type SimulatorOptions = {
  /** Folder of the journal. File names contain `name`, so several simulators can share a folder. */
  dir: string
  name: string
  /** Origin at which the service reaches the simulator. */
  publicUrl: string | (() => string)
  /** Origin at which browsers reach it, if different. */
  browserUrl?: string
  /** Further host names and addresses of the simulator. */
  hostnames?: readonly string[]
  /**
   * Only programs on this machine reach the simulator. It may then download files from this machine, because its
   * callers can read them anyway. Otherwise it downloads from public addresses and its own origins only.
   */
  isPrivate?: boolean
  /** Loads the accounts of the built-in simulator. Without it, accounts are registered by a control call. */
  loadAccounts?: () => Promise<SimulatorAccount[]>
  /** Loads the customers who wrote recently but may be missing from the journal. Called once, at the start. */
  loadCustomers?: () => Promise<KnownCustomer[]>
  /** Loads the phones with messages from before the journal, such as those of the demo. Called once, at the start. */
  loadHistory?: () => Promise<PastPhone[]>
  log: Log
  quotas?: Partial<Quotas>
  times: Times['simulator']
}

/** `id` is a number in E.164 or a user id. */
export type KnownCustomer = {
  workspace_id: string
  channel: Channel
  /** The number that the customer wrote to. */
  connection_id?: string
  id: string
  name: string | null
  username: string | null
  last_inbound_at: string
}

const flushMs = 1_000

export async function createSimulator(options: SimulatorOptions): Promise<Simulator> {
  const { dir, name, publicUrl, browserUrl, hostnames = [], isPrivate = false } = options
  const { loadAccounts, loadCustomers, loadHistory, log, times } = options
  const quotas = { ...defaultQuotas, ...options.quotas }
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const origin = typeof publicUrl === 'string' ? () => publicUrl : publicUrl
  const accounts = createAccounts({
    file: join(dir, loadAccounts ? `${name}-accounts.json` : 'accounts.json'),
    load: loadAccounts,
    origin: () => browserUrl ?? origin(),
    onTakeOver: (heir) => journal.append(wireJson({ k: 'c', ...heir })),
  })
  const sent = createSentMessages()
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
  const phones = createPhones((entry) => renderBubble({ journal, accounts, media }, entry), quotas.streams)
  const replay = createReplay({ accounts, sent, media })
  const startedAt = Date.now()
  const journal = openJournal(join(dir, `${name}.jsonl`), quotas.journalBytes, log, replay.replayLine)
  if (sent.size > 0) log.info({ messages: sent.size, ms: Date.now() - startedAt }, 'the simulator replayed its journal')

  const callbacks = createCallbacks<InFlightMessage>({
    journal,
    log,
    formatBatch: (state, batch) =>
      state.channel === 'social' ? formatSocialReports(state, batch) : formatStatuses(state, batch),
    times,
  })
  const statuses = startStatuses(callbacks, showStatus)
  let callbackCount = replay.callbackCount()
  const world: World = {
    log,
    publicUrl: origin,
    isStandalone: loadAccounts === undefined,
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
    times,
    takeControlCall: createBucket(quotas.controlCallsPerSecond),
    hanging: new Set(),
    nextCallback: () => ++callbackCount,
  }
  await accounts.refresh().catch((error) => log.warn({ err: error }, 'the simulator cannot read its accounts yet'))
  const customers = await loadCustomers?.().catch((error) => {
    log.warn({ err: error }, 'the simulator cannot read the customers who wrote recently')
  })
  for (const { workspace_id, channel, connection_id, id, last_inbound_at, ...names } of customers ?? []) {
    const key = channel === 'msgapp' ? waIdOf(keyOf(id)) : id
    const state = accounts.resolveState({ w: workspace_id, c: channel, n: connection_id })
    recordCustomer(state, key, Date.parse(last_inbound_at), names)
    if (channel === 'msgapp' && userIdPattern.test(key)) recordUserId(state.business, key, '')
  }
  const history = await loadHistory?.().catch((error) => {
    log.warn({ err: error }, 'the simulator cannot read the messages of the demo')
  })
  phones.addHistory(history ?? [])
  replay.resume(world)
  // Reports of an unregistered account stay queued; this posts them once it is registered.
  const flushing = setInterval(() => callbacks.flush(), flushMs).unref()

  function showStatus({ entry }: InFlightMessage, status: Status, code: number | undefined) {
    if (!entry || ranks[status] <= ranks[entry.status]) return
    phones.setStatus(entry, status, phoneError(code))
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
      if (path.startsWith('/simulator/control/')) return await handleControl(world, request, response)
      if (path === '/simulator/lookaside') return handleLookaside(world, request, response)
      if (request.method !== 'GET' && request.method !== 'HEAD') return sendNotFound(response)
      if (path === '/simulator' || path === '/simulator/') return sendPage('index.html', request, response)
      const [, folder, name = ''] = /^\/simulator\/(phone|media)\/(.+)$/.exec(path) ?? []
      if (folder === 'phone') return sendPage(name, request, response)
      if (folder === 'media') return sendMedia(media, name, queryOf(request.url ?? ''), response)
      sendNotFound(response)
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
