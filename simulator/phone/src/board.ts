/**
 * The state of the page as a pure reducer: all phones, those that are shown,
 * and the messages that the person has not seen.
 */
import type { Bubble, Customer, Phone, PhoneList, StreamEvent, Workspace } from './api.ts'
import { firstCustomer, magicNumbers } from './samples.ts'

export type Board = {
  isLoaded: boolean
  workspace: Workspace
  workspaces: readonly Workspace[]
  hasDashboard: boolean
  phones: ReadonlyMap<string, Phone>
  /** Keys of the phones that are shown, from left to right. */
  shown: readonly string[]
  unread: ReadonlyMap<string, number>
  inView: ReadonlySet<string>
  current: string | undefined
}

export type Action =
  | { type: 'loaded'; list: PhoneList; added: readonly Customer[] }
  | { type: 'received'; events: readonly StreamEvent[] }
  | { type: 'show'; customer: Customer }
  | { type: 'hide'; key: string }
  | { type: 'select'; key: string }
  | { type: 'view'; key: string; isVisible: boolean }

/** Phones that are shown at first. Further ones are in the list of all customers. */
const maxShown = 12
const ranks = { sending: 0, accepted: 1, sent: 2, delivered: 3, read: 4, failed: 5 }

export const emptyBoard: Board = {
  isLoaded: false,
  workspace: { workspace_id: '', business_name: 'The business' },
  workspaces: [],
  hasDashboard: false,
  phones: new Map(),
  shown: [],
  unread: new Map(),
  inView: new Set(),
  current: undefined,
}

export const keyOf = ({ channel, id }: Pick<Customer, 'channel' | 'id'>) => `${channel}:${id}`

export const titleOf = ({ name, username, id }: Omit<Customer, 'channel'>): string =>
  name || username || magicNumbers.find(({ number }) => number === id)?.title || id

export const addressOf = ({ channel, id, username }: Customer): string =>
  channel === 'social' && username ? `@${username}` : id

export const channelNames = { msgapp: 'Messages', social: 'Social' }

export function newestFirst(phones: Iterable<Phone>): Phone[] {
  const lastAt = ({ messages }: Phone) => Date.parse(messages.at(-1)?.at ?? '') || 0
  return [...phones].sort((a, b) => lastAt(b) - lastAt(a))
}

export function reduce(board: Board, action: Action): Board {
  switch (action.type) {
    case 'loaded':
      return load(board, action.list, action.added)
    case 'received':
      return receive(board, action.events)
    case 'show':
      return show(board, action.customer)
    case 'hide':
      return hide(board, action.key)
    case 'select':
      return select(board, action.key)
    case 'view': {
      const inView = new Set(board.inView)
      if (action.isVisible) inView.add(action.key)
      else inView.delete(action.key)
      const next = { ...board, inView, unread: without(board.unread, ...inView) }
      // On a narrow screen the only visible phone is the current one.
      const [only] = inView
      return inView.size === 1 && only ? { ...next, current: only } : next
    }
  }
}

/** The simulator's list replaces ours. Phones that were added here and have no message yet stay. */
function load(board: Board, list: PhoneList, added: readonly Customer[]): Board {
  const { workspace, workspaces, has_dashboard: hasDashboard = false, phones: listed } = list
  const phones = new Map<string, Phone>()
  const unread = new Map(board.unread)
  for (const phone of [...listed, ...added.map((customer) => ({ ...customer, messages: [] }))]) {
    const key = keyOf(phone)
    if (phones.has(key)) continue
    const known = board.phones.get(key)
    const messages = [...phone.messages].sort((a, b) => Date.parse(a.at) - Date.parse(b.at))
    const name = phone.name ?? known?.name ?? null
    phones.set(key, { ...phone, name, username: phone.username ?? known?.username ?? null, messages })
    if (!known || board.inView.has(key)) continue
    const knownIds = new Set(known.messages.map(({ id }) => id))
    const newCount = messages.filter(({ id, from }) => from === 'business' && !knownIds.has(id)).length
    if (newCount > 0) unread.set(key, (unread.get(key) ?? 0) + newCount)
  }
  if (phones.size === 0) phones.set(keyOf(firstCustomer), { ...firstCustomer, messages: [] })
  const shown = board.isLoaded
    ? board.shown.filter((key) => phones.has(key))
    : newestFirst(phones.values()).slice(0, maxShown).map(keyOf)
  return {
    ...board,
    isLoaded: true,
    workspace: { ...workspace, business_name: workspace.business_name || 'The business' },
    workspaces,
    hasDashboard,
    phones,
    shown,
    unread,
    current: board.current && shown.includes(board.current) ? board.current : shown[0],
  }
}

/** Applies events in one pass. A repeated event changes nothing. */
function receive(board: Board, events: readonly StreamEvent[]): Board {
  const phones = new Map(board.phones)
  const unread = new Map(board.unread)
  let { shown } = board
  for (const event of events) {
    const key = keyOf({ channel: event.channel, id: event.phone })
    const known = phones.get(key)
    if (event.type === 'status') {
      if (known) phones.set(key, { ...known, messages: known.messages.map((each) => withStatus(each, event)) })
      continue
    }
    const { channel, phone: id, bubble } = event
    const name = event.name ?? known?.name ?? null
    const username = event.username ?? known?.username ?? null
    phones.set(key, { channel, id, name, username, messages: insert(known?.messages ?? [], bubble) })
    if (!shown.includes(key) && shown.length < maxShown) shown = [...shown, key]
    if (bubble.from === 'business' && !hasMessage(known, bubble.id) && !board.inView.has(key))
      unread.set(key, (unread.get(key) ?? 0) + 1)
  }
  return { ...board, phones, unread, shown, current: board.current ?? shown[0] }
}

export const hasMessage = (phone: Phone | undefined, id: string) =>
  Boolean(phone?.messages.some((each) => each.id === id))

/** A message nearly always belongs at the end. A late one is inserted by time. */
function insert(messages: readonly Bubble[], bubble: Bubble): Bubble[] {
  const index = messages.findIndex(({ id }) => id === bubble.id)
  if (index >= 0) return messages.with(index, bubble)
  const before = messages.findLastIndex(({ at }) => Date.parse(at) <= Date.parse(bubble.at))
  return messages.toSpliced(before + 1, 0, bubble)
}

/**
 * Reports may be late or repeated, so the status of a business's message never goes back. A customer's message may go
 * from failed to delivered, because the simulator repeats the callback.
 */
function withStatus(bubble: Bubble, { id, status, error }: Pick<Bubble, 'id' | 'status' | 'error'>): Bubble {
  if (bubble.id !== id) return bubble
  if (bubble.from === 'business' && ranks[status] < ranks[bubble.status]) return bubble
  return { ...bubble, status, error }
}

function show(board: Board, customer: Customer): Board {
  const key = keyOf(customer)
  const phones = board.phones.has(key) ? board.phones : new Map(board.phones).set(key, { ...customer, messages: [] })
  const shown = board.shown.includes(key) ? board.shown : [...board.shown, key]
  return select({ ...board, phones, shown }, key)
}

/** A phone without messages is removed; others stay in the list of all customers. */
function hide(board: Board, key: string): Board {
  const shown = board.shown.filter((each) => each !== key)
  const inView = new Set(board.inView)
  inView.delete(key)
  const phones = new Map(board.phones)
  if (phones.get(key)?.messages.length === 0) phones.delete(key)
  return { ...board, shown, phones, inView, current: board.current === key ? shown[0] : board.current }
}

const select = (board: Board, key: string): Board => ({ ...board, current: key, unread: without(board.unread, key) })

function without<Value>(map: ReadonlyMap<string, Value>, ...keys: string[]): ReadonlyMap<string, Value> {
  if (!keys.some((key) => map.has(key))) return map
  const rest = new Map(map)
  for (const key of keys) rest.delete(key)
  return rest
}
