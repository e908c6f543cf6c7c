/**
 * The chats on the simulated customers' phones, and the event stream that
 * updates the page. A customer has one chat with each number of a workspace.
 *
 * A chat holds positions in the journal; bubbles are rendered when a page
 * reads them. Only those from before the journal are held themselves. Each
 * workspace keeps the 200 chats used last, and each chat its last 100
 * bubbles.
 *
 * A stream is written at the client's pace. Up to 1 MiB of events wait for a
 * slow client. Past that the client is disconnected; the page then reconnects
 * and loads all phones again.
 */
import type { ServerResponse } from 'node:http'
import type { Bubble, BubbleError, BubbleStatus } from '../wire/bubble.ts'
import type { AccountState, Channel } from './accounts.ts'
import { evictOldest } from './quotas.ts'

/** One bubble: its position in the journal and its latest status. */
export type PhoneEntry = {
  /** Of a message from before the journal. */
  readonly bubble?: Bubble
  readonly phone: Phone
  readonly id: string
  readonly from: 'business' | 'customer'
  offset: number
  length: number
  status: BubbleStatus
  error: BubbleError | null
}

type Phone = {
  readonly workspace_id: string
  readonly channel: Channel
  /** The number that the chat is with; undefined for an account without a connection. */
  readonly connection_id: string | undefined
  /** E.164 on msgapp, a user id elsewhere. */
  readonly id: string
  name: string | null
  username: string | null
  entries: PhoneEntry[]
}

/** The messages of a customer from before the journal, oldest first. */
export type PastPhone = Pick<Phone, 'workspace_id' | 'channel' | 'id' | 'name' | 'username'> & {
  connection_id?: string
  bubbles: readonly Bubble[]
}

export type Phones = ReturnType<typeof createPhones>

type NewEntry = Pick<PhoneEntry, 'id' | 'from' | 'offset' | 'length' | 'status'> & {
  connection_id?: string | undefined
}

type InboundEntry = Pick<Phone, 'workspace_id' | 'channel' | 'connection_id' | 'name' | 'username'> &
  Pick<PhoneEntry, 'id' | 'offset' | 'length'> & { phone: string }

const maxEntries = 100
const maxListed = 50
const maxPhones = 200
const heartbeatMs = 15_000
const maxBufferedBytes = 1024 * 1024

const keyOf = (channel: Channel, connectionId: string | undefined, id: string) =>
  `${channel} ${connectionId ?? ''} ${id}`

export function createPhones(renderBubble: (entry: PhoneEntry) => Bubble, maxStreams: number) {
  /** By workspace; the phone used last is the last entry. */
  const phonesByWorkspace = new Map<string, Map<string, Phone>>()
  const streams = new Map<string, Set<Stream>>()
  let heartbeat: NodeJS.Timeout | undefined
  let streamCount = 0

  function send(workspaceId: string, event: string, data: () => unknown) {
    const open = streams.get(workspaceId)
    if (!open || open.size === 0) return
    const text = `event: ${event}\ndata: ${JSON.stringify(data())}\n\n`
    for (const stream of open) stream.send(text)
  }

  function add(workspaceId: string, channel: Channel, id: string, input: NewEntry): PhoneEntry {
    const { connection_id, id: messageId, from, offset, length, status } = input
    let phones = phonesByWorkspace.get(workspaceId)
    if (!phones) {
      phones = new Map()
      phonesByWorkspace.set(workspaceId, phones)
    }
    const key = keyOf(channel, connection_id, id)
    let phone = phones.get(key)
    if (phone) phones.delete(key)
    else {
      phone = { workspace_id: workspaceId, channel, connection_id, id, name: null, username: null, entries: [] }
      evictOldest(phones, maxPhones)
    }
    phones.set(key, phone)
    const entry: PhoneEntry = { phone, id: messageId, from, offset, length, status, error: null }
    const known = from === 'customer' ? phone.entries.findIndex((each) => each.id === messageId) : -1
    if (known >= 0) phone.entries[known] = entry
    else {
      phone.entries.push(entry)
      if (phone.entries.length > maxEntries) phone.entries.shift()
    }
    return entry
  }

  return {
    add,
    /** Adds the phones of a history, the one used last at the end. Called before the journal's phones are restored. */
    addHistory(history: readonly PastPhone[]) {
      for (const { workspace_id, channel, connection_id, id, name, username, bubbles } of history) {
        const phones = phonesByWorkspace.get(workspace_id) ?? new Map<string, Phone>()
        phonesByWorkspace.set(workspace_id, phones)
        const phone: Phone = { workspace_id, channel, connection_id, id, name, username, entries: [] }
        phone.entries = bubbles.slice(-maxEntries).map((bubble) => ({
          ...{ phone, bubble, id: bubble.id, from: bubble.from, offset: 0, length: 0 },
          ...{ status: bubble.status, error: bubble.error },
        }))
        phones.set(keyOf(channel, connection_id, id), phone)
      }
    },
    /** Adds a customer's message with the status `delivered`, which nearly every one gets. */
    addInbound(input: InboundEntry): PhoneEntry {
      const { workspace_id, channel, connection_id, phone, name, username, id, offset, length } = input
      const message = { connection_id, id, from: 'customer', offset, length, status: 'delivered' } as const
      const entry = add(workspace_id, channel, phone, message)
      entry.phone.name = name ?? entry.phone.name
      entry.phone.username = username ?? entry.phone.username
      return entry
    },
    /** Sends the bubble to the open pages. */
    publish(entry: PhoneEntry) {
      const { workspace_id, channel, connection_id, id: phone, name, username } = entry.phone
      const source = { channel, connection_id, phone }
      send(workspace_id, 'bubble', () => ({ ...source, name, username, bubble: renderBubble(entry) }))
    },
    setStatus(entry: PhoneEntry, status: BubbleStatus, error: PhoneEntry['error']) {
      entry.status = status
      entry.error = error
      const { id } = entry
      const { workspace_id, channel, connection_id, id: phone } = entry.phone
      send(workspace_id, 'status', () => ({ channel, connection_id, phone, id, status, error }))
    },
    /** The chats used last, the newest first. Chats with a number that is no longer connected are omitted. */
    list: (workspaceId: string, connectionIds: ReadonlySet<string>) =>
      [...(phonesByWorkspace.get(workspaceId)?.values() ?? [])]
        .filter(({ connection_id: id }) => id === undefined || connectionIds.has(id))
        .reverse()
        .slice(0, maxListed),
    find: ({ workspace_id, channel, connection_id }: AccountState, phone: string) =>
      phonesByWorkspace.get(workspace_id)?.get(keyOf(channel, connection_id, phone)),
    /** Streams changes to the client; false when the maximum number of streams is open. */
    subscribe(workspaceId: string, response: ServerResponse): boolean {
      if (streamCount >= maxStreams) return false
      streamCount++
      const stream = openStream(response)
      const open = streams.get(workspaceId) ?? new Set()
      streams.set(workspaceId, open.add(stream))
      heartbeat ??= setInterval(() => {
        for (const each of streams.values()) for (const { send } of each) send(': heartbeat\n\n')
      }, heartbeatMs).unref()
      response.on('close', () => {
        streamCount--
        open.delete(stream)
      })
      return true
    },
    stop() {
      clearInterval(heartbeat)
      for (const open of streams.values()) for (const { end } of open) end()
    },
  }
}

type Stream = { send(text: string): void; end(): void }

function openStream(response: ServerResponse): Stream {
  let buffered: string[] = []
  let bufferedBytes = 0
  response.setHeader('content-type', 'text/event-stream; charset=utf-8')
  response.writeHead(200, { 'cache-control': 'no-store', 'x-accel-buffering': 'no' })
  response.write(': connected\n\n')
  response.on('drain', () => {
    const text = buffered.join('')
    buffered = []
    bufferedBytes = 0
    if (text !== '') response.write(text)
  })
  return {
    send(text) {
      if (!response.writableNeedDrain) {
        response.write(text)
        return
      }
      buffered.push(text)
      bufferedBytes += Buffer.byteLength(text)
      if (bufferedBytes > maxBufferedBytes) response.destroy()
    },
    end: () => void response.end(),
  }
}
