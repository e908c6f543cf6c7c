/**
 * `/simulator/control/…`: people and tests play the customers and inject faults.
 *
 * A call that changes something requires JSON, or a header that no HTML form
 * can send, so that another site cannot make it through a browser.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { isBlocked } from '../graph/objects.ts'
import { type AccountState, type Channel, ownerOf, recordCustomer, recordUserId } from '../state/accounts.ts'
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
import { parseAccount } from './account.ts'
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

function optionalId(body: Json, name: 'workspace_id' | 'connection_id'): string | undefined {
  const value = body[name] ?? undefined
  if (value !== undefined && typeof value !== 'string') throw badRequest(`${name}: a string`)
  return value
}

/** The account of the connection that the call names, or the default of the channel. */
async function requireState(world: World, body: Json, value: unknown, fallback: Channel): Promise<AccountState> {
  const workspaceId = optionalId(body, 'workspace_id')
  const connectionId = optionalId(body, 'connection_id')
  if (connectionId !== undefined) {
    const state = await requireConnection(world, workspaceId, connectionId)
    const { channel } = state
    if (channelOf(value, channel) === channel) return state
    throw badRequest(`channel: ${connectionId} is a connection of ${channel}`)
  }
  const channel = channelOf(value, fallback)
  const state = await world.accounts.find(workspaceId, channel)
  if (state) return state
  const which = workspaceId === undefined ? 'there is no default workspace with' : `${workspaceId} has`
  throw new ControlError(404, 'not_found', `workspace_id: ${which} no ${channel} connection to this simulator`)
}

async function requireConnection(
  world: World,
  workspaceId: string | undefined,
  connectionId: string,
): Promise<AccountState> {
  const state = await world.accounts.findConnection(workspaceId, connectionId)
  if (state) return state
  const where = workspaceId === undefined ? 'this simulator' : `workspace ${workspaceId}`
  throw new ControlError(404, 'not_found', `connection_id: ${where} has no connection ${connectionId}`)
}

function channelOf(value: unknown, fallback: Channel): Channel {
  const channel = value ?? fallback
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

/** A caller with a token proves the account by it: the service asks such a caller for no session (`server/simulator-host/mount.ts`). */
function requireToken({ headers: { authorization } }: IncomingMessage, { account }: AccountState): void {
  if (authorization === undefined || (account && authorization === `Bearer ${account.access_token}`)) return
  throw new ControlError(401, 'unauthorized', 'authorization: not the token of this account')
}

/** A customer writes. The answer follows the first attempt to post the callback. */
async function postInbound({ world, request, response }: Call): Promise<void> {
  const body = await readObject(request)
  const state = await requireState(world, body, body.channel, 'msgapp')
  requireToken(request, state)
  requireCapacity(world)
  if (isBlockedSender(state, body)) throw new ControlError(409, 'blocked', 'from: the business has blocked this user')
  const inbound = await readInbound(world, state, body)
  const wire = wireJson(inboundCallback(world, state, inbound))
  const number = world.nextCallback()
  const { workspace_id, channel, connection_id } = state
  const { phone, name, username, messageId, at } = inbound
  const keys =
    channel === 'social' ? [inbound.userId] : [...new Set([waIdOf(inbound.number), inbound.userId])].filter(Boolean)
  const bubble = inboundBubble(inbound)
  const head = wireJson({ k: 'i', q: number, ...ownerOf(state), keys, phone, at, name, username, bubble })
  const entry = await new Promise<PhoneEntry>((resolve) => {
    world.journal.append(`${head.slice(0, -1)},"body":${wire}}`, (offset, length) => {
      for (const key of keys) recordCustomer(state, key, at, { name, username })
      if (channel === 'msgapp') recordUserId(state.business, inbound.userId, waIdOf(inbound.number))
      const message = { phone, name, username, id: messageId, offset, length }
      resolve(world.phones.addInbound({ workspace_id, channel, connection_id, ...message }))
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
  const connectionId = query.get('connection_id') ?? undefined
  const wanted = connectionId === undefined ? undefined : await requireConnection(world, workspaceId, connectionId)
  const isWanted = (sender: AccountState) =>
    wanted ? sender === wanted : workspaceId === undefined || sender.workspace_id === workspaceId
  response.writeHead(200, { 'content-type': 'application/json; charset=UTF-8' })
  let before = '{"data":['
  for (const lines of world.sent.lines(world.journal, { keys, isWanted })) {
    let text = ''
    for (const { line, sender } of lines) {
      const from = line.indexOf('"message_id"')
      // The index compares hashes of recipients, so a line may have another recipient.
      if (keys && !keys.some((each) => line.slice(0, from).includes(`"r":"${each}"`))) continue
      text += `${before}{${withConnection(line.slice(from), sender)}`
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

/** Names the connection after the channel. Older lines do not have it. */
function withConnection(row: string, { connection_id }: AccountState): string {
  if (connection_id === undefined) return row
  const at = row.indexOf(',"to":')
  return `${row.slice(0, at)},"connection_id":"${connection_id}"${row.slice(at)}`
}

async function postFault({ world, request, response }: Call): Promise<void> {
  const fault = parseFault(await readObject(request))
  const { workspace_id, connection_id } = fault
  if (connection_id !== null) await requireConnection(world, workspace_id ?? undefined, connection_id)
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
  const state = await requireState(world, call, call.channel, isInstagram ? 'social' : 'msgapp')
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
  const known = world.accounts.list()
  const names = new Map(known.map((state) => [state.workspace_id, state.account?.business_name ?? '']))
  const connections = known.filter((state) => state.workspace_id === workspace_id).flatMap(describeConnection)
  const chats = world.phones.list(workspace_id, new Set(connections.map(({ connection_id }) => connection_id)))
  sendData(response, {
    workspace: {
      workspace_id,
      business_name: account?.business_name ?? '',
      display_phone_number: account?.display_phone_number ?? '',
    },
    workspaces: [...names].map(([id, name]) => ({ workspace_id: id, business_name: name })),
    connections,
    has_dashboard: !world.isStandalone,
    phones: chats.map(({ channel, connection_id, id, name, username, entries }) => ({
      channel,
      connection_id,
      id,
      name,
      username,
      messages: entries.map((entry) => renderBubble(world, entry)),
    })),
  })
}

/** A number as the page shows it; none for an account that was registered without a connection. */
function describeConnection({ account, channel, connection_id }: AccountState) {
  if (!account || connection_id === undefined) return []
  const { name = channel, display_phone_number: number, is_channel_default: is_default = true } = account
  return [{ connection_id, channel, name, address: account.address ?? number.replace(/^(?=\d)/, '+'), is_default }]
}

async function getStream({ world, response, query }: Call): Promise<void> {
  const { workspace_id } = await requireWorkspace(world, query)
  if (world.phones.subscribe(workspace_id, response)) return
  throw new ControlError(503, 'too_many_streams', `at most ${world.quotas.streams} streams`)
}
