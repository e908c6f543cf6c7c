/**
 * The state of the page as a pure reducer: all phones with their chats, those
 * that are shown, and the messages that the person has not seen.
 */
import type { Bubble, Chat, Connection, Customer, Phone, PhoneList, StreamEvent, Workspace } from './api.ts'
import { firstCustomer, magicNumbers } from './samples.ts'

export type Board = {
  isLoaded: boolean
  workspace: Workspace
  workspaces: readonly Workspace[]
  /** The numbers and accounts that customers can write to. */
  connections: readonly Connection[]
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
  | { type: 'write_to'; key: string; connectionId: string }
  | { type: 'view'; key: string; isVisible: boolean }

/** Phones that are shown at first. Further ones are in the list of all customers. */
const maxShown = 12
const ranks = { sending: 0, accepted: 1, sent: 2, delivered: 3, read: 4, failed: 5 }

export const emptyBoard: Board = {
  isLoaded: false,
  workspace: { workspace_id: '', business_name: 'The business' },
  workspaces: [],
  connections: [],
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

/** A user of msgapp can hide the number behind a username. */
export const hasNumber = ({ channel, id }: Pick<Customer, 'channel' | 'id'>): boolean =>
  channel === 'msgapp' && id.startsWith('+')

export const addressOf = (customer: Customer): string =>
  customer.username && !hasNumber(customer) ? `@${customer.username}` : customer.id

export const channelNames = { msgapp: 'Messages', social: 'Social' }

/** The connections of one channel, if there is a choice. */
export function choicesOf(connections: readonly Connection[], channel: Customer['channel']): readonly Connection[] {
  const own = connections.filter((each) => each.channel === channel)
  return own.length > 1 ? own : []
}

export const describeConnection = ({ name, address }: Connection): string => [name, address].filter(Boolean).join(' · ')

const timeOf = (bubble: Bubble | undefined) => Date.parse(bubble?.at ?? '') || 0

/** The newest message of all chats. */
export function lastMessage({ messages, otherChats }: Phone): Bubble | undefined {
  let last = messages.at(-1)
  for (const chat of otherChats.values()) if (timeOf(chat.messages.at(-1)) > timeOf(last)) last = chat.messages.at(-1)
  return last
}

export const isEmpty = (phone: Phone): boolean => lastMessage(phone) === undefined

export const newestFirst = (phones: Iterable<Phone>): Phone[] =>
  [...phones].sort((a, b) => timeOf(lastMessage(b)) - timeOf(lastMessage(a)))

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
    case 'write_to':
      return writeTo(board, action.key, action.connectionId)
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
  const { workspace, workspaces, connections = [], has_dashboard: hasDashboard = false } = list
  const chats = new Map<string, Chat[]>()
  for (const chat of list.phones) chats.set(keyOf(chat), [...(chats.get(keyOf(chat)) ?? []), chat])
  for (const customer of added) {
    if (!chats.has(keyOf(customer))) chats.set(keyOf(customer), [{ ...customer, messages: [] }])
  }
  if (chats.size === 0) chats.set(keyOf(firstCustomer), [{ ...firstCustomer, messages: [] }])
  const phones = new Map<string, Phone>()
  const unread = new Map(board.unread)
  for (const [key, own] of chats) {
    const known = board.phones.get(key)
    const [first] = own
    if (first) phones.set(key, toPhone(first, own, known, connections))
    if (!known || board.inView.has(key)) continue
    const newCount = own.reduce((sum, { messages }) => sum + countNew(messages, known), 0)
    if (newCount > 0) unread.set(key, (unread.get(key) ?? 0) + newCount)
  }
  const shown = board.isLoaded
    ? board.shown.filter((key) => phones.has(key))
    : newestFirst(phones.values()).slice(0, maxShown).map(keyOf)
  return {
    ...board,
    isLoaded: true,
    workspace: { ...workspace, business_name: workspace.business_name || 'The business' },
    workspaces,
    connections,
    hasDashboard,
    phones,
    shown,
    unread,
    current: board.current && shown.includes(board.current) ? board.current : shown[0],
  }
}

/** The phone of a customer with all chats. It keeps its number; at first that is the one of the newest chat. */
function toPhone(
  { channel, id }: Customer,
  chats: readonly Chat[],
  known: Phone | undefined,
  connections: readonly Connection[],
): Phone {
  const sorted = chats.map((chat) => ({
    connectionId: chat.connection_id ?? defaultConnection(connections, chat.channel),
    messages: [...chat.messages].sort((a, b) => timeOf(a) - timeOf(b)),
  }))
  const newest = sorted.reduce((a, b) => (timeOf(b.messages.at(-1)) > timeOf(a.messages.at(-1)) ? b : a))
  const isKept =
    known && (connections.length === 0 || connections.some((each) => each.connection_id === known.connectionId))
  const connectionId = isKept ? known.connectionId : newest.connectionId
  const otherChats = new Map<string, { messages: readonly Bubble[]; unread: number }>()
  for (const chat of sorted) {
    if (chat.connectionId === connectionId) continue
    const before = known?.otherChats.get(chat.connectionId)?.unread ?? 0
    const unread = known ? before + countNew(chat.messages, known) : 0
    otherChats.set(chat.connectionId, { messages: chat.messages, unread })
  }
  return {
    channel,
    id,
    name: chats.find(({ name }) => name)?.name ?? known?.name ?? null,
    username: chats.find(({ username }) => username)?.username ?? known?.username ?? null,
    connectionId,
    messages: sorted.find((chat) => chat.connectionId === connectionId)?.messages ?? [],
    otherChats,
  }
}

function defaultConnection(connections: readonly Connection[], channel: Customer['channel']): string {
  const own = connections.filter((each) => each.channel === channel)
  return (own.find(({ is_default }) => is_default) ?? own[0])?.connection_id ?? ''
}

const countNew = (messages: readonly Bubble[], known: Phone) =>
  messages.filter(({ id, from }) => from === 'business' && !hasMessage(known, id)).length

/** Applies events in one pass. A repeated event changes nothing. */
function receive(board: Board, events: readonly StreamEvent[]): Board {
  const phones = new Map(board.phones)
  const unread = new Map(board.unread)
  let { shown } = board
  for (const event of events) {
    const { channel, phone: id } = event
    const key = keyOf({ channel, id })
    const known = phones.get(key)
    const connectionId = event.connection_id ?? defaultConnection(board.connections, channel)
    if (event.type === 'status') {
      if (known && hasMessage(known, event.id)) {
        phones.set(
          key,
          changeChat(known, connectionId, (all) => all.map((each) => withStatus(each, event))),
        )
      }
      continue
    }
    const { bubble } = event
    const isNew = bubble.from === 'business' && !hasMessage(known, bubble.id)
    const phone = known ?? { ...emptyPhone({ channel, id, name: null, username: null }), connectionId }
    const name = event.name ?? phone.name
    const username = event.username ?? phone.username
    const changed = changeChat(phone, connectionId, (all) => insert(all, bubble), isNew ? 1 : 0)
    phones.set(key, { ...changed, name, username })
    if (!shown.includes(key) && shown.length < maxShown) shown = [...shown, key]
    if (isNew && !board.inView.has(key)) unread.set(key, (unread.get(key) ?? 0) + 1)
  }
  return { ...board, phones, unread, shown, current: board.current ?? shown[0] }
}

const emptyPhone = (customer: Customer): Phone => ({
  ...customer,
  connectionId: '',
  messages: [],
  otherChats: new Map(),
})

/** Changes the chat with one number. New messages of a chat that the phone does not show are counted. */
function changeChat(
  phone: Phone,
  connectionId: string,
  change: (messages: readonly Bubble[]) => readonly Bubble[],
  newCount = 0,
): Phone {
  if (connectionId === phone.connectionId) return { ...phone, messages: change(phone.messages) }
  const { messages, unread } = phone.otherChats.get(connectionId) ?? { messages: [], unread: 0 }
  const chat = { messages: change(messages), unread: unread + newCount }
  return { ...phone, otherChats: new Map(phone.otherChats).set(connectionId, chat) }
}

/** Shows the chat with another number. */
function writeTo(board: Board, key: string, connectionId: string): Board {
  const phone = board.phones.get(key)
  if (!phone || phone.connectionId === connectionId) return board
  const otherChats = new Map(phone.otherChats).set(phone.connectionId, { messages: phone.messages, unread: 0 })
  const messages = otherChats.get(connectionId)?.messages ?? []
  otherChats.delete(connectionId)
  return { ...board, phones: new Map(board.phones).set(key, { ...phone, connectionId, messages, otherChats }) }
}

export const hasMessage = (phone: Phone | undefined, id: string): boolean =>
  phone !== undefined &&
  [phone, ...phone.otherChats.values()].some(({ messages }) => messages.some((each) => each.id === id))

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
  const connectionId = defaultConnection(board.connections, customer.channel)
  const phones = board.phones.has(key)
    ? board.phones
    : new Map(board.phones).set(key, { ...emptyPhone(customer), connectionId })
  const shown = board.shown.includes(key) ? board.shown : [...board.shown, key]
  return select({ ...board, phones, shown }, key)
}

/** A phone without messages is removed; others stay in the list of all customers. */
function hide(board: Board, key: string): Board {
  const shown = board.shown.filter((each) => each !== key)
  const inView = new Set(board.inView)
  inView.delete(key)
  const phones = new Map(board.phones)
  const phone = phones.get(key)
  if (phone && isEmpty(phone)) phones.delete(key)
  return { ...board, shown, phones, inView, current: board.current === key ? shown[0] : board.current }
}

const select = (board: Board, key: string): Board => ({ ...board, current: key, unread: without(board.unread, key) })

function without<Value>(map: ReadonlyMap<string, Value>, ...keys: string[]): ReadonlyMap<string, Value> {
  if (!keys.some((key) => map.has(key))) return map
  const rest = new Map(map)
  for (const key of keys) rest.delete(key)
  return rest
}
