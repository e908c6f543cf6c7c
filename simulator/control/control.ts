/**
 * `/simulator/control/…`: people and tests play the customers and inject faults.
 *
 * A call that changes something requires JSON, or a header that no HTML form
 * can send, so that another site cannot make it through a browser.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { isBlocked } from '../graph/objects.ts'
import { type AccountState, type Channel, parseAccount, recordCustomer } from '../state/accounts.ts'
import { parseFault } from '../state/faults.ts'
import { journalFullMessage } from '../state/journal.ts'
import type { PhoneEntry } from '../state/phones.ts'
import {
  badRequest,
  ControlError,
  isObject,
  type Json,
  maxBodyBytes,
  maxUploadBytes,
  parseJson,
  parseMimeType,
  queryOf,
  readWholeBody,
  sendControlError,
  sendData,
} from '../wire/http.ts'
import { keyOf, waIdOf, wireJson } from '../wire/ids.ts'
import type { World } from '../world.ts'
import { pageUrl, renderBubble } from './bubbles.ts'
import { fillInAccountIds, recordSenders } from './custom-callback.ts'
import { inboundBubble, readInbound } from './inbound.ts'
import { inboundCallback } from './inbound-callback.ts'

type Call = { world: World; request: IncomingMessage; response: ServerResponse; query: URLSearchParams }

const calls: Record<string, (call: Call) => Promise<void> | void> = {
  'POST inbound': postInbound,
  'GET sent': getSent,
  'GET faults': ({ world, response }) => sendData(response, world.faults.list()),
  'POST faults': postFault,
  'DELETE faults': ({ world, response }) => {
    world.faults.clear()
    sendData(response, { cleared: true })
  },
  'POST callback': postCallback,
  'PUT accounts': putAccount,
  'GET accounts': getAccounts,
  'POST uploads': postUpload,
  'GET phones': getPhones,
  'GET stream': getStream,
}

export async function handleControl(world: World, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = request.url ?? ''
  const name = /^\/simulator\/control\/([a-z]+)\/?(?:\?|$)/.exec(url)?.[1]
  const call = calls[`${request.method} ${name}`]
  response.setHeader('x-content-type-options', 'nosniff')
  response.setHeader('cross-origin-resource-policy', 'same-origin')
  try {
    if (!call) throw new ControlError(404, 'not_found', `no such call: ${request.method} ${url.split('?')[0]}`)
    if (request.method !== 'GET' && !world.takeControlCall(Date.now())) {
      response.setHeader('retry-after', '1')
      throw new ControlError(429, 'too_many_calls', `at most ${world.quotas.controlCallsPerSecond} calls a second`)
    }
    await call({ world, request, response, query: queryOf(url) })
  } catch (error) {
    const isKnown = error instanceof ControlError
    if (!isKnown) world.log.error({ err: error, url }, 'a control call of the simulator failed')
    if (response.headersSent) {
      response.destroy()
      return
    }
    sendControlError(response, isKnown ? error : new ControlError(500, 'internal', 'the simulator failed; see its log'))
  }
}

async function readObject(request: IncomingMessage): Promise<Json> {
  if (!/^application\/json\b/i.test(request.headers['content-type'] ?? '')) {
    throw badRequest('content-type: application/json is required')
  }
  const bytes = await readWholeBody(request, maxBodyBytes)
  if (!bytes) throw new ControlError(413, 'too_large', `the body is over ${maxBodyBytes} bytes`)
  let body: unknown
  try {
    body = parseJson(bytes)
  } catch {
    throw badRequest('the body is not JSON')
  }
  if (!isObject(body)) throw badRequest('the body: a JSON object')
  return body
}

async function requireState(world: World, body: Json, channel: Channel): Promise<AccountState> {
  const workspaceId = body.workspace_id ?? undefined
  if (workspaceId !== undefined && typeof workspaceId !== 'string') throw badRequest('workspace_id: a string')
  const state = await world.accounts.find(workspaceId, channel)
  if (state) return state
  const which = workspaceId === undefined ? 'there is no default workspace with' : `${workspaceId} has`
  throw new ControlError(404, 'not_found', `workspace_id: ${which} no ${channel} connection to this simulator`)
}

function channelOf(value: unknown): Channel {
  const channel = value ?? 'msgapp'
  if (channel !== 'msgapp' && channel !== 'social') throw badRequest('channel: msgapp or social')
  return channel
}

/** The provider does not pass on messages of a blocked user. */
const isBlockedSender = (state: AccountState, { from, user_id }: Json): boolean =>
  [from, user_id].some(
    (id) => typeof id === 'string' && isBlocked(state, state.channel === 'social' ? id : waIdOf(keyOf(id))),
  )

/** Refuses the call if the journal is full, or too many callbacks wait for the service. */
function requireCapacity({ journal, callbacks, quotas }: World): void {
  if (!journal.hasCapacity()) throw new ControlError(507, 'journal_full', journalFullMessage(quotas.journalBytes))
  if (callbacks.waitingCount() < quotas.waitingCallbacks) return
  const message = `${quotas.waitingCallbacks} callbacks wait for the service to accept them`
  throw new ControlError(503, 'too_many_waiting', message)
}

/** A customer writes. The answer follows the first attempt to post the callback. */
async function postInbound({ world, request, response }: Call): Promise<void> {
  const body = await readObject(request)
  const state = await requireState(world, body, channelOf(body.channel))
  requireCapacity(world)
  if (isBlockedSender(state, body)) throw new ControlError(409, 'blocked', 'from: the business has blocked this user')
  const inbound = await readInbound(world, state, body)
  const wire = wireJson(inboundCallback(world, state, inbound))
  const number = world.nextCallback()
  const { workspace_id, channel } = state
  const { phone, name, username, messageId, at } = inbound
  const keys =
    channel === 'social' ? [inbound.userId] : [...new Set([waIdOf(inbound.number), inbound.userId])].filter(Boolean)
  const bubble = inboundBubble(inbound)
  const head = wireJson({ k: 'i', q: number, w: workspace_id, c: channel, keys, phone, at, name, username, bubble })
  const entry = await new Promise<PhoneEntry>((resolve) => {
    world.journal.append(`${head.slice(0, -1)},"body":${wire}}`, (offset, length) => {
      for (const key of keys) recordCustomer(state, key, at, { name, username })
      resolve(world.phones.addInbound({ workspace_id, channel, phone, name, username, id: messageId, offset, length }))
    })
  })
  world.phones.publish(entry)
  const { ok, message } = await world.callbacks.deliver(state, wire, number, () => {
    if (entry.status !== 'delivered') world.phones.setStatus(entry, 'delivered', null)
  })
  if (ok) return sendData(response, { message_id: messageId })
  world.phones.setStatus(entry, 'failed', { code: 0, message })
  throw new ControlError(
    502,
    'callback_failed',
    `${message}; the callback is repeated until the service accepts it (message_id ${messageId})`,
  )
}

/** Streams all accepted messages in order; there may be millions. */
async function getSent({ world, response, query }: Call): Promise<void> {
  const to = query.get('to')
  const key = to === null ? undefined : keyOf(to)
  const keys = key === undefined ? undefined : [...new Set([key, waIdOf(key)])]
  const workspaceId = query.get('workspace_id') ?? undefined
  response.writeHead(200, { 'content-type': 'application/json; charset=UTF-8' })
  let before = '{"data":['
  for (const lines of world.sent.lines(world.journal, { keys, workspaceId })) {
    let text = ''
    for (const line of lines) {
      const from = line.indexOf('"message_id"')
      // The index compares hashes of recipients, so a line may have another recipient.
      if (keys && !keys.some((each) => line.slice(0, from).includes(`"r":"${each}"`))) continue
      text += `${before}{${line.slice(from)}`
      before = ','
    }
    if (text !== '' && !response.write(text) && !response.destroyed) {
      await new Promise<void>((resolve) => {
        response.once('drain', resolve)
        response.once('close', resolve)
      })
    }
    if (response.destroyed) return
    await yieldToEventLoop()
  }
  response.end(before === ',' ? ']}' : '{"data":[]}')
}

async function postFault({ world, request, response }: Call): Promise<void> {
  const fault = parseFault(await readObject(request))
  if (!world.faults.add(fault)) {
    throw badRequest(`faults: at most ${world.quotas.faults}; DELETE /simulator/control/faults removes them`)
  }
  sendData(response, fault)
}

/** Posts the caller's own body once. */
async function postCallback({ world, request, response }: Call): Promise<void> {
  const call = await readObject(request)
  if (call.body === undefined) throw badRequest('body: required')
  const isInstagram = isObject(call.body) && call.body.object === 'instagram'
  const state = await requireState(world, call, channelOf(call.channel ?? (isInstagram ? 'social' : 'msgapp')))
  fillInAccountIds(state, call.body)
  recordSenders(state, call.body)
  const { status, message } = await world.callbacks.post(state, wireJson(call.body))
  if (status === 0) throw new ControlError(502, 'callback_failed', message)
  sendData(response, { status })
}

async function putAccount({ world, request, response }: Call): Promise<void> {
  const account = parseAccount(await readObject(request))
  if (!world.isStandalone) {
    throw new ControlError(
      409,
      'built_in',
      'the built-in simulator reads its accounts from the service; use parley workspace connect-simulator',
    )
  }
  const { accounts: maxAccounts } = world.quotas
  if (!world.accounts.register(account, maxAccounts)) throw badRequest(`accounts: at most ${maxAccounts}`)
  world.callbacks.flush()
  sendData(response, { registered: true })
}

/** Lists the accounts without their secrets. */
async function getAccounts({ world, response }: Call): Promise<void> {
  await world.accounts.refresh()
  const accounts = world.accounts.list().flatMap(({ account }) => (account ? [account] : []))
  sendData(
    response,
    accounts.map(({ access_token: _token, app_secret: _secret, verify_token: _verify, ...shown }) => shown),
  )
}

async function postUpload({ world, request, response }: Call): Promise<void> {
  if (request.headers['x-simulator'] === undefined) throw badRequest('x-simulator: this header is required')
  const mimeType = parseMimeType(request.headers['content-type'] ?? 'application/octet-stream')
  if (!mimeType) throw badRequest('content-type: such as image/png')
  const bytes = await readWholeBody(request, maxUploadBytes)
  if (!bytes) throw new ControlError(413, 'too_large', `the file is over ${maxUploadBytes} bytes`)
  if (bytes.length === 0) throw badRequest('the body: a file is required')
  const { id } = world.media.save({ mime_type: mimeType, filename: null, workspace_id: null, from: 'customer' }, bytes)
  sendData(response, { id, url: pageUrl(id) })
}

async function requireWorkspace(world: World, query: URLSearchParams): Promise<AccountState> {
  const workspaceId = query.get('workspace_id') ?? undefined
  const state = (await world.accounts.find(workspaceId, 'msgapp')) ?? (await world.accounts.find(workspaceId, 'social'))
  if (!state) throw new ControlError(404, 'not_found', 'workspace_id: no workspace is connected to this simulator')
  return state
}

async function getPhones({ world, response, query }: Call): Promise<void> {
  const { account, workspace_id } = await requireWorkspace(world, query)
  const names = new Map(world.accounts.list().map((state) => [state.workspace_id, state.account?.business_name ?? '']))
  sendData(response, {
    workspace: {
      workspace_id,
      business_name: account?.business_name ?? '',
      display_phone_number: account?.display_phone_number ?? '',
    },
    workspaces: [...names].map(([id, name]) => ({ workspace_id: id, business_name: name })),
    has_dashboard: !world.isStandalone,
    phones: world.phones.list(workspace_id).map(({ channel, id, name, username, entries }) => ({
      channel,
      id,
      name,
      username,
      messages: entries.map((entry) => renderBubble(world, entry)),
    })),
  })
}

async function getStream({ world, response, query }: Call): Promise<void> {
  const { workspace_id } = await requireWorkspace(world, query)
  if (world.phones.subscribe(workspace_id, response)) return
  throw new ControlError(503, 'too_many_streams', `at most ${world.quotas.streams} streams`)
}
