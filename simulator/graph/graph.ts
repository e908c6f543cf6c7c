/**
 * The provider's API: `/simulator/graph/v25.0/{object}[/{edge}[/{id}]]`.
 *
 * The version is optional, and any version is accepted. A token gives access to
 * the numbers and objects of its accounts. For other objects the answer is
 * "does not exist".
 */
import { createHmac } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Agent } from 'undici'
import type { AccountState } from '../state/accounts.ts'
import { createBucket } from '../state/quotas.ts'
import { badToken, type Failure, failure, noSuchObject } from '../wire/errors.ts'
import { isObject, type Json, queryOf, sendJson, sendObject, tokenOf } from '../wire/http.ts'
import { type Params, readParams } from '../wire/params.ts'
import { templateResource } from '../wire/templates.ts'
import type { World } from '../world.ts'
import { sendFailure } from './answers.ts'
import { upload } from './media.ts'
import { acceptMessage } from './messages.ts'
import { objectCalls } from './objects.ts'
import { acceptSocial, postAttachment, sendProfile } from './social.ts'
import { deleteTemplates, listTemplates, postTemplate } from './templates.ts'

const path = /^\/simulator\/graph(?:\/v\d+\.\d+)?(?:\/([^/?]+))?(?:\/([^/?]+))?(?:\/([^/?]+))?\/?(?:\?|$)/

/** Limit of a body that is read before authentication, because the token may be in it. */
const maxUnauthenticatedBytes = 256 * 1024

type Call = {
  world: World
  token: string
  /** Undefined for a batch. */
  id: string | undefined
  edge: string | undefined
  rest: string | undefined
  request: IncomingMessage
  response: ServerResponse
  /** The body, if it was read for the token. */
  params: Params | undefined
}

export function handleGraph(world: World, request: IncomingMessage, response: ServerResponse) {
  const found = path.exec(request.url ?? '')
  if (!found) return sendFailure(response, failure(100, undefined, { message: 'Unknown path components' }))
  const [, id, edge, rest] = found
  const call = { world, id, edge, rest, request, response }
  const token = tokenOf(request)
  if (token !== undefined) return handleCall({ ...call, token, params: undefined })
  if (request.method !== 'POST') return sendFailure(response, noToken())
  const onParams = (params: Params | undefined) => {
    const bodyToken = params?.values.access_token
    if (typeof bodyToken === 'string') handleCall({ ...call, token: bodyToken, params: withoutToken(params) })
    else sendFailure(response, noToken())
  }
  readParams(request, onParams, maxUnauthenticatedBytes)
}

const noToken = () => failure(190, undefined, { message: 'An access token is required to request this resource.' })

/** Removes the credentials, so the journal does not store them. */
function withoutToken(params: Params | undefined): Params | undefined {
  const { access_token: _, appsecret_proof: __, ...values } = params?.values ?? {}
  return params && { ...params, values, raw: undefined }
}

function handleCall(call: Call) {
  const { world, token, id } = call
  if (id === undefined) return void handleBatch(call)
  const state = chooseState(world.accounts.byToken(token), id)
  if (state) {
    world.accounts.refreshIfStale()
    return answer(call, state, id)
  }
  void handleUnknownToken(call, id)
}

/** The token or the object is unknown, so the accounts may have changed: reloads them and tries again. */
async function handleUnknownToken(call: Call, id: string): Promise<void> {
  const { world, token, edge, request, response } = call
  try {
    await world.accounts.refresh()
  } catch (error) {
    world.log.error({ err: error }, 'the simulator cannot read its accounts')
  }
  const found = world.accounts.byToken(token)
  const state = chooseState(found, id) ?? (edge === undefined ? found[0] : undefined)
  if (state) return answer(call, state, id)
  sendFailure(response, found.length === 0 ? badToken() : noSuchObject(request.method ?? 'GET', id))
}

/** The account that owns the object, of those the token gives access to. */
function chooseState(states: readonly AccountState[], id: string): AccountState | undefined {
  for (const state of states) {
    const { account } = state
    if (account && (account.phone_number_id === id || account.account_id === id)) return state
  }
  return id === 'me' ? (states.find(({ channel }) => channel === 'social') ?? states[0]) : undefined
}

function answer(call: Call, state: AccountState, id: string) {
  const { world, edge, request, response } = call
  const { account, channel } = state
  const { method = 'GET' } = request
  const isNumber = channel === 'msgapp' && account?.phone_number_id === id
  const isSend = method === 'POST' && edge === 'messages' && (isNumber || channel === 'social')
  if (!isProven(call, state)) return sendFailure(response, failure(100, undefined, { message: badProof }))
  if (!isSend && !takeGraphCall(state, world.quotas.graphCallsPerSecond)) return sendFailure(response, failure(80007))
  const withParams = (params: Params | undefined) => {
    if (!params)
      return sendFailure(response, failure(100, 'the body is too large, or neither a JSON object nor a form'))
    if (isSend) return (isNumber ? acceptMessage : acceptSocial)(world, state, params, response)
    answerRest({ ...call, params }, state, id).catch((error) => {
      world.log.error({ err: error, url: request.url }, 'the simulator failed')
      if (!response.headersSent) sendFailure(response, failure(131000))
    })
  }
  if (call.params) withParams(call.params)
  else readParams(request, withParams)
}

const badProof = 'Invalid appsecret_proof provided in the API argument'

/** Checks `appsecret_proof`, which is optional. */
function isProven({ token, request }: Call, { account }: AccountState): boolean {
  const proof = request.url?.includes('appsecret_proof=') ? queryOf(request.url).get('appsecret_proof') : null
  if (proof === null) return true
  return (
    proof ===
    createHmac('sha256', account?.app_secret ?? '')
      .update(token)
      .digest('hex')
  )
}

const graphCalls = new WeakMap<AccountState, (now: number) => boolean>()

/** Takes one call from the account's quota; false when the quota is used up. */
function takeGraphCall(state: AccountState, perSecond: number): boolean {
  const take = graphCalls.get(state) ?? createBucket(perSecond)
  graphCalls.set(state, take)
  return take(Date.now())
}

async function answerRest(call: Call & { params: Params }, state: AccountState, id: string): Promise<void> {
  const { world, edge, rest, request, response, params } = call
  const { account, channel } = state
  const { method = 'GET', url = '' } = request
  const query = queryOf(url)
  const isOwn = account?.account_id === id || id === 'me'
  const isNumber = channel === 'msgapp' && account?.phone_number_id === id
  const success = () => sendJson(response, 200, '{"success":true}')

  if (edge === 'media' && method === 'POST' && isNumber) return upload(world, state, params, response)
  if (edge === 'message_attachments' && method === 'POST' && channel === 'social') {
    return postAttachment(world, state, params, response)
  }
  if (edge === 'message_templates' && isOwn && channel === 'msgapp') {
    if (rest !== undefined) return sendTemplate(state, method, rest, response)
    if (method === 'GET') return listTemplates(world, state, query, url, response)
    if (method === 'POST') return postTemplate(world, state, params.values, response)
    if (method === 'DELETE') return deleteTemplates(world, state, query, response)
  }
  if (edge === 'subscribed_apps' && isOwn) {
    if (method === 'GET')
      return sendObject(response, { data: [{ whatsapp_business_api_data: { id: '1', name: 'Parley' } }] })
    return success()
  }
  if (edge === 'phone_numbers' && isOwn && method === 'GET') {
    const numbers = world.accounts.list().filter(({ business }) => business === state.business)
    return sendObject(response, { data: numbers.map(describeNumber) })
  }
  const objectCall = edge === undefined ? undefined : objectCalls[edge]
  if (objectCall && (isNumber || channel === 'social')) {
    const found = await objectCall({ world, state, method, rest, values: params.values })
    if (found && 'code' in found && 'status' in found) return sendFailure(response, found as Failure)
    if (found) return sendJson(response, found.error ? 400 : 200, JSON.stringify(found))
  }
  if (edge !== undefined) return sendFailure(response, noSuchObject(method, id))

  // Older clients set a number's settings, such as its PIN, on the number itself.
  if (isNumber && method === 'POST') return success()
  if (isNumber && method === 'GET') return sendFields(describeNumber(state), query, response)
  if (isOwn && method === 'GET') return sendFields(describeAccount(state), query, response)
  const media = world.media.get(id)
  if (media && (media.workspace_id === null || media.workspace_id === state.workspace_id)) {
    if (method === 'DELETE') {
      world.media.delete(id)
      return success()
    }
    if (method === 'GET') {
      const { mime_type, sha256, file_size } = media
      const link = world.media.tokenLink(id, Date.now())
      return sendObject(response, { messaging_product: 'whatsapp', url: link, mime_type, sha256, file_size, id })
    }
  }
  if (channel === 'social' && method === 'GET') return sendProfile(world, state, id, query.get('fields'), response)
  return sendTemplate(state, method, id, response)
}

function sendTemplate(state: AccountState, method: string, id: string, response: ServerResponse) {
  const template = [...state.business.templates.values()].find((each) => each.id === id)
  if (template && method === 'GET') return sendObject(response, templateResource(template))
  sendFailure(response, noSuchObject(method, id))
}

const maxBatch = 50

/** A batch: each call gets the answer it would get on its own. */
async function handleBatch({ world, token, request, response, params: known }: Call): Promise<void> {
  const params = known ?? (await new Promise<Params | undefined>((resolve) => readParams(request, resolve)))
  const { batch, include_headers } = params?.values ?? {}
  if (request.method !== 'POST' || !Array.isArray(batch) || batch.length === 0 || batch.length > maxBatch) {
    return sendFailure(response, failure(100, `batch: 1 to ${maxBatch} calls`))
  }
  const { localAddress = '', localPort } = request.socket
  const host = localAddress.includes(':') ? `[${localAddress}]` : localAddress
  const origin = `${'encrypted' in request.socket ? 'https' : 'http'}://${host}:${localPort}`
  const answers: object[] = []
  for (const each of batch.filter(isObject)) {
    const headers = {
      host: request.headers.host ?? '',
      authorization: `Bearer ${token}`,
      'content-type': 'application/x-www-form-urlencoded',
    }
    const { statusCode, body } = await ownCalls.request({
      origin,
      path: `/simulator/graph/${String(each.relative_url).replace(/^\/+/, '')}`,
      method: String(each.method ?? 'GET').toUpperCase() as 'GET',
      headers,
      ...(typeof each.body === 'string' ? { body: each.body } : {}),
    })
    const shown = include_headers === false || include_headers === 'false' ? {} : { headers: [] }
    answers.push({ code: statusCode, ...shown, body: await body.text() })
  }
  world.accounts.refreshIfStale()
  sendObject(response, answers)
}

/** The calls of a batch go to this process itself, so its certificate is not verified. */
const ownCalls = new Agent({ connect: { rejectUnauthorized: false } })

function describeNumber({ account, workspace_id }: AccountState): Json {
  return {
    id: account?.phone_number_id,
    verified_name: account?.business_name ?? workspace_id,
    display_phone_number: account?.display_phone_number ?? '',
    quality_rating: 'GREEN',
    throughput: { level: (account?.messages_per_second ?? 80) > 80 ? 'HIGH' : 'STANDARD' },
    status: 'CONNECTED',
    code_verification_status: 'VERIFIED',
    name_status: 'APPROVED',
    platform_type: 'CLOUD_API',
  }
}

function describeAccount({ account, channel }: AccountState): Json {
  const name = account?.business_name ?? ''
  if (channel === 'social') {
    const username = account?.address || name.toLowerCase().replace(/[^a-z0-9]+/g, '.') || 'business'
    return { id: account?.account_id, user_id: account?.account_id, name, username, account_type: 'BUSINESS' }
  }
  return {
    id: account?.account_id,
    name,
    currency: 'USD',
    timezone_id: '1',
    message_template_namespace: `ns_${account?.account_id}`,
    whatsapp_business_manager_messaging_limit: 'TIER_UNLIMITED',
  }
}

function sendFields(object: Json, query: URLSearchParams, response: ServerResponse): void {
  const wanted = query
    .get('fields')
    ?.split(',')
    .map((field) => field.trim())
  const fields = wanted
    ? Object.entries(object).filter(([name]) => name === 'id' || wanted.includes(name))
    : Object.entries(object)
  sendObject(response, Object.fromEntries(fields))
}
