/**
 * The provider's API: `/simulator/graph/v25.0/{object}[/{edge}]`.
 *
 * Any version will do, none as well. A token opens what belongs to its
 * account; everything else does not exist.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AccountState } from './accounts.ts'
import { badToken, failure, noSuchObject } from './errors.ts'
import { type Json, maxBodyBytes, queryOf, readBody, sendJson, tokenOf } from './http.ts'
import { upload } from './media-calls.ts'
import { acceptMessage } from './messages.ts'
import { createBucket } from './quotas.ts'
import { acceptSocial, sendProfile } from './social.ts'
import { deleteTemplates, listTemplates, makeTemplate } from './template-calls.ts'
import { listed } from './templates.ts'
import { sendFailure, type World } from './world.ts'

const path = /^\/simulator\/graph(?:\/v\d+\.\d+)?\/([^/?]+)(?:\/([^/?]+))?\/?(?:\?|$)/

export function handleGraph(world: World, request: IncomingMessage, response: ServerResponse) {
  const [, id, edge] = path.exec(request.url ?? '') ?? []
  if (id === undefined) return sendFailure(response, failure(100, undefined, { message: 'Unknown path components' }))
  const token = tokenOf(request)
  if (token === undefined) {
    return sendFailure(
      response,
      failure(190, undefined, { message: 'An access token is required to request this resource.' }),
    )
  }
  const found = world.accounts.byToken(token)
  const state = chooseState(found, id)
  if (state) {
    world.accounts.refreshSoon()
    return answer(world, state, id, edge, request, response)
  }
  void handleStranger(world, token, id, edge, request, response)
}

/** Somebody we do not know, or who asks for something we cannot place: perhaps they are new. */
async function handleStranger(
  world: World,
  token: string,
  id: string,
  edge: string | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    await world.accounts.refresh()
  } catch (error) {
    world.log.error({ err: error }, 'the simulator cannot read its accounts')
  }
  const found = world.accounts.byToken(token)
  const state = chooseState(found, id) ?? (edge === undefined ? found[0] : undefined)
  if (state) return answer(world, state, id, edge, request, response)
  sendFailure(response, found.length === 0 ? badToken() : noSuchObject(request.method ?? 'GET', id))
}

/** Of the accounts a token opens, the one the object belongs to. */
function chooseState(states: readonly AccountState[], id: string): AccountState | undefined {
  for (const state of states) {
    const { account } = state
    if (account && (account.phone_number_id === id || account.account_id === id)) return state
  }
  return id === 'me' ? (states.find(({ channel }) => channel === 'social') ?? states[0]) : undefined
}

function answer(
  world: World,
  state: AccountState,
  id: string,
  edge: string | undefined,
  request: IncomingMessage,
  response: ServerResponse,
) {
  const { account, channel } = state
  const { method = 'GET' } = request
  const isNumber = channel === 'msgapp' && account?.phone_number_id === id
  if (method === 'POST' && edge === 'messages' && (isNumber || channel === 'social')) {
    const accept = isNumber ? acceptMessage : acceptSocial
    return readBody(request, maxBodyBytes, (bytes) => {
      if (bytes) accept(world, state, bytes, response)
      else sendFailure(response, failure(100, 'the body is too large'))
    })
  }
  if (!takeGraphCall(state, world.quotas.graphCallsPerSecond)) return sendFailure(response, failure(80007))
  answerRest(world, state, id, edge, request, response).catch((error) => {
    world.log.error({ err: error, url: request.url }, 'the simulator failed')
    if (!response.headersSent) sendFailure(response, failure(131000))
  })
}

const graphCalls = new WeakMap<AccountState, (now: number) => boolean>()

/** Takes one call from the account's quota; false when it is used up. */
function takeGraphCall(state: AccountState, perSecond: number): boolean {
  const take = graphCalls.get(state) ?? createBucket(perSecond)
  graphCalls.set(state, take)
  return take(Date.now())
}

async function answerRest(
  world: World,
  state: AccountState,
  id: string,
  edge: string | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { account, channel } = state
  const { method = 'GET', url = '' } = request
  const query = queryOf(url)
  const isOwn = account?.account_id === id || id === 'me'
  const isNumber = channel === 'msgapp' && account?.phone_number_id === id
  const success = () => sendJson(response, 200, '{"success":true}')

  if (edge === 'media' && method === 'POST' && isNumber) return upload(world, state, request, response)
  if (edge === 'message_templates' && isOwn && channel === 'msgapp') {
    if (method === 'GET') return listTemplates(world, state, query, url, response)
    if (method === 'POST') return makeTemplate(world, state, request, response)
    if (method === 'DELETE') return deleteTemplates(world, state, query, response)
  }
  if (edge === 'subscribed_apps' && isOwn) {
    if (method === 'GET')
      return sendJson(
        response,
        200,
        JSON.stringify({ data: [{ whatsapp_business_api_data: { id: '1', name: 'Parley' } }] }),
      )
    return success()
  }
  if (edge === 'phone_numbers' && isOwn && method === 'GET') {
    return sendJson(response, 200, JSON.stringify({ data: [describeNumber(state)] }))
  }
  if (edge === 'register' && isNumber && method === 'POST') return success()
  if (edge !== undefined) return sendFailure(response, noSuchObject(method, id))

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
      const link = world.media.linkOf(id, Date.now())
      return sendJson(
        response,
        200,
        JSON.stringify({ messaging_product: 'whatsapp', url: link, mime_type, sha256, file_size, id }),
      )
    }
  }
  if (channel === 'social' && method === 'GET') return sendProfile(world, state, id, query.get('fields'), response)
  const template = [...state.templates.values()].find((each) => each.id === id)
  if (template && method === 'GET') return sendJson(response, 200, JSON.stringify(listed(template)))
  sendFailure(response, noSuchObject(method, id))
}

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
    const username = name.toLowerCase().replace(/[^a-z0-9]+/g, '.') || 'business'
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
  sendJson(response, 200, JSON.stringify(Object.fromEntries(fields)))
}
