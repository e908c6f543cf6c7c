/**
 * Settings of a business: its profile, settings and the menus of its social
 * account; and objects of a number: QR codes, blocked users, its registration.
 * The journal stores them by name, so they survive a restart.
 */
import { randomBytes } from 'node:crypto'
import { type AccountState, ownerOf } from '../state/accounts.ts'
import { isWindowOpen } from '../state/rate-limits.ts'
import { type Failure, failure, failureBody } from '../wire/errors.ts'
import { isObject, type Json } from '../wire/http.ts'
import { keyOf, waIdOf, wireJson } from '../wire/ids.ts'
import type { World } from '../world.ts'
import { journalFullFailure } from './answers.ts'

export type ObjectCall = {
  world: World
  state: AccountState
  method: string
  /** The path segment after the edge: `message_qrdls/{code}`. */
  rest: string | undefined
  values: Json
}

export type Answer = Json | Failure

const success = { success: true }
const maxObjects = 5_000

/** Handlers by edge of the number or account. They return `undefined` for a method that does not exist. */
export const objectCalls: Record<string, (call: ObjectCall) => Promise<Answer | undefined>> = {
  async whatsapp_business_profile({ world, state, method, values }) {
    const profile = { ...state.business.objects.get('profile'), messaging_product: 'whatsapp' }
    if (method === 'GET') return { data: [chooseFields(profile, values.fields, ['messaging_product'])] }
    if (method !== 'POST') return undefined
    const known = ['about', 'address', 'description', 'email', 'vertical', 'websites']
    return (await put(world, state, 'profile', { ...profile, ...pick(values, known) })) ?? success
  },
  async settings({ world, state, method, values }) {
    const settings = state.business.objects.get('settings') ?? {}
    if (method === 'GET') return settings
    if (method !== 'POST') return undefined
    return (await put(world, state, 'settings', { ...settings, ...values })) ?? success
  },
  async register({ world, state, method }) {
    return method === 'POST' ? ((await remove(world, state, 'deregistered')) ?? success) : undefined
  },
  async deregister({ world, state, method }) {
    return method === 'POST' ? ((await put(world, state, 'deregistered', {})) ?? success) : undefined
  },
  async request_code({ method }) {
    return method === 'POST' ? success : undefined
  },
  async verify_code({ method }) {
    return method === 'POST' ? success : undefined
  },
  block_users: blockUsers,
  /** The social account blocks people by their id. */
  async moderate_conversations({ world, state, method, values: { user_ids, actions } }) {
    if (method !== 'POST') return undefined
    if (!Array.isArray(user_ids) || !Array.isArray(actions)) return failure(100, 'user_ids, actions: arrays')
    for (const { id } of user_ids.filter(isObject)) {
      const name = blockName(String(id))
      const error = actions.includes('block_user')
        ? await put(world, state, name, { id: String(id) })
        : actions.includes('unblock_user') && (await remove(world, state, name))
      if (error) return error
    }
    return success
  },
  message_qrdls: qrCodes,
  async messenger_profile({ world, state, method, values }) {
    const profile = state.business.objects.get('messenger_profile') ?? {}
    if (method === 'GET') {
      const shown = chooseFields(profile, values.fields, [])
      return { data: Object.keys(shown).length > 0 ? [shown] : [] }
    }
    const { fields, platform: _, ...changes } = values
    const removed = method === 'DELETE' && Array.isArray(fields) ? fields : []
    const kept = Object.fromEntries(Object.entries(profile).filter(([name]) => !removed.includes(name)))
    return (await put(world, state, 'messenger_profile', { ...kept, ...changes })) ?? { result: 'success' }
  },
}

export const isRegistered = ({ objects }: AccountState): boolean => !objects.has('deregistered')

export const isBlocked = ({ objects }: AccountState, key: string): boolean =>
  objects.size > 0 && objects.has(blockName(key))

const blockName = (key: string) => `blocked/${key}`

/** Blocks or unblocks each user separately. Only a user who wrote within 24 hours can be blocked. */
async function blockUsers({ world, state, method, values }: ObjectCall): Promise<Answer | undefined> {
  if (method === 'GET') {
    const blocked = [...state.objects].filter(([name]) => name.startsWith('blocked/')).map(([, user]) => user)
    return { data: blocked.map((user) => ({ messaging_product: 'whatsapp', ...user })) }
  }
  if (!Array.isArray(values.block_users) || values.block_users.length === 0) {
    return failure(100, 'block_users: an array of { user }')
  }
  const [changed, failed]: [Json[], Json[]] = [[], []]
  for (const each of values.block_users.filter(isObject)) {
    const input = String(each.user ?? each.user_id ?? '')
    const key = each.user === undefined ? input : waIdOf(keyOf(input))
    const shown = each.user === undefined ? { user_id: key } : { wa_id: key }
    const isAllowed = method === 'DELETE' || isWindowOpen(state, key, Date.now())
    const error =
      method === 'DELETE'
        ? await remove(world, state, blockName(key))
        : isAllowed
          ? await put(world, state, blockName(key), shown)
          : failure(131047)
    if (!error) changed.push({ input, ...shown })
    else failed.push({ input, ...shown, errors: [{ message: error.message, code: error.code }] })
  }
  const users = {
    ...(changed.length > 0 ? { [method === 'DELETE' ? 'removed_users' : 'added_users']: changed } : {}),
    ...(failed.length > 0 ? { failed_users: failed } : {}),
  }
  const partialFailure = failed.length > 0 ? JSON.parse(failureBody(failure(139100))) : {}
  return { messaging_product: 'whatsapp', block_users: users, ...partialFailure }
}

/** QR codes that open a chat with a prefilled message. Their image is a sample: no real chat exists. */
async function qrCodes({ world, state, method, rest, values }: ObjectCall): Promise<Answer | undefined> {
  const code = rest ?? (typeof values.code === 'string' ? values.code : undefined)
  const known = code === undefined ? undefined : state.objects.get(`qr/${code}`)
  if (code !== undefined && !known) return failure(100, 'code: no such QR code')
  if (method === 'GET') {
    const codes = [...state.objects].filter(([name]) => name.startsWith('qr/')).map(([, each]) => each)
    return { data: known ? [known] : codes }
  }
  if (method === 'DELETE')
    return code === undefined ? undefined : ((await remove(world, state, `qr/${code}`)) ?? success)
  const { prefilled_message: message, generate_qr_image: format } = values
  if (typeof message !== 'string' || message === '' || message.length > 140) {
    return failure(100, 'prefilled_message: 1 to 140 characters')
  }
  const id = code ?? randomBytes(7).toString('hex').toUpperCase()
  const qrCode = { code: id, prefilled_message: message, deep_link_url: `https://wa.me/message/${id}` }
  const error = await put(world, state, `qr/${id}`, qrCode)
  if (error) return error
  const image = format === undefined ? {} : { qr_image_url: world.media.publicLink(world.media.createSample('image')) }
  return { ...qrCode, ...image }
}

/** Whether an object belongs to the number. All others belong to its provider account. */
export const isObjectOfNumber = (name: string): boolean => name === 'deregistered' || /^(blocked|qr)\//.test(name)

const objectsOf = (state: AccountState, name: string) =>
  isObjectOfNumber(name) ? state.objects : state.business.objects

export async function put(world: World, state: AccountState, name: string, value: Json): Promise<Failure | undefined> {
  const objects = objectsOf(state, name)
  if (!objects.has(name) && objects.size >= maxObjects) return failure(100, `at most ${maxObjects} objects`)
  const full = await write(world, state, name, value)
  if (!full) objects.set(name, value)
  return full
}

async function remove(world: World, state: AccountState, name: string): Promise<Failure | undefined> {
  const objects = objectsOf(state, name)
  if (!objects.has(name)) return undefined
  const full = await write(world, state, name, null)
  if (!full) objects.delete(name)
  return full
}

async function write(world: World, state: AccountState, name: string, value: Json | null) {
  if (!world.journal.hasCapacity()) return journalFullFailure(world)
  await world.journal.record(wireJson({ k: 'o', ...ownerOf(state), name, value }))
  return undefined
}

const pick = (object: Json, names: readonly string[]): Json =>
  Object.fromEntries(Object.entries(object).filter(([name]) => names.includes(name)))

/** The fields that the query names, or all of them. */
function chooseFields(object: Json, fields: unknown, always: readonly string[]): Json {
  const wanted = Array.isArray(fields) ? fields : typeof fields === 'string' ? fields.split(',') : undefined
  return wanted ? pick(object, [...always, ...wanted.map((name) => String(name).trim())]) : object
}
