/**
 * The phones on the table: what each simulated customer sees, and the stream
 * that keeps the page up to date.
 *
 * Only places in the journal are held; a bubble is drawn when somebody looks.
 * Of each workspace the phones that were used last are kept, and of each phone
 * its last hundred bubbles.
 */
import type { ServerResponse } from 'node:http'
import type { Rendered } from '../wire/template-render.ts'
import type { Channel } from './accounts.ts'

type BubbleStatus = 'accepted' | 'sent' | 'delivered' | 'read' | 'failed'

export type Bubble = {
  id: string
  from: 'business' | 'customer'
  at: string
  type: string
  text: string | null
  status: BubbleStatus
  error: { code: number; message: string } | null
  media: { url: string; mime_type: string | null; filename: string | null } | null
  template: Rendered | null
  reply_to: string | null
  location?: unknown
  contacts?: { name: string; phone: string }[]
  reaction?: { message_id: string; emoji: string }
}

/** One bubble: where it is in the journal, and what became of it. */
export type PhoneEntry = {
  readonly phone: Phone
  readonly id: string
  readonly from: 'business' | 'customer'
  offset: number
  length: number
  status: BubbleStatus
  error: { code: number; message: string } | null
}

type Phone = {
  readonly workspace_id: string
  readonly channel: Channel
  /** E.164 on msgapp, a user id elsewhere. */
  readonly id: string
  name: string | null
  username: string | null
  entries: PhoneEntry[]
}

export type Phones = {
  add(
    workspaceId: string,
    channel: Channel,
    phone: string,
    entry: Pick<PhoneEntry, 'id' | 'from' | 'offset' | 'length' | 'status'>,
  ): PhoneEntry
  /** The bubble is there to be looked at, or looks different now. */
  changed(entry: PhoneEntry): void
  setStatus(entry: PhoneEntry, status: BubbleStatus, error: PhoneEntry['error']): void
  list(workspaceId: string): Phone[]
  find(workspaceId: string, channel: Channel, phone: string): Phone | undefined
  /** Streams what changes; false when there are as many streams as there may be. */
  listen(workspaceId: string, response: ServerResponse): boolean
  stop(): void
}

const maxEntries = 100
const maxShown = 50
const maxKept = 200
const heartbeatMs = 15_000
const maxUnread = 1024 * 1024

export function createPhones(draw: (entry: PhoneEntry) => Bubble, maxStreams: number): Phones {
  /** By workspace, the phone that was used last at the end. */
  const tables = new Map<string, Map<string, Phone>>()
  const listeners = new Map<string, Set<ServerResponse>>()
  let heartbeat: NodeJS.Timeout | undefined
  let streamCount = 0

  function tell(workspaceId: string, event: string, data: () => unknown) {
    const listening = listeners.get(workspaceId)
    if (!listening || listening.size === 0) return
    const text = `event: ${event}\ndata: ${JSON.stringify(data())}\n\n`
    for (const response of listening) {
      // A page that does not read comes back by itself and reads the table anew.
      if (response.writableLength > maxUnread) response.destroy()
      else response.write(text)
    }
  }

  return {
    add(workspaceId, channel, id, { id: messageId, from, offset, length, status }) {
      let table = tables.get(workspaceId)
      if (!table) {
        table = new Map()
        tables.set(workspaceId, table)
      }
      const key = channel + id
      let phone = table.get(key)
      if (phone) table.delete(key)
      else {
        phone = { workspace_id: workspaceId, channel, id, name: null, username: null, entries: [] }
        if (table.size >= maxKept) dropOldest(table)
      }
      table.set(key, phone)
      const entry: PhoneEntry = { phone, id: messageId, from, offset, length, status, error: null }
      const known = from === 'customer' ? phone.entries.findIndex((each) => each.id === messageId) : -1
      if (known >= 0) phone.entries[known] = entry
      else {
        phone.entries.push(entry)
        if (phone.entries.length > maxEntries) phone.entries.shift()
      }
      return entry
    },
    changed(entry) {
      const { phone } = entry
      tell(phone.workspace_id, 'bubble', () => ({
        channel: phone.channel,
        phone: phone.id,
        name: phone.name,
        username: phone.username,
        bubble: draw(entry),
      }))
    },
    setStatus(entry, status, error) {
      entry.status = status
      entry.error = error
      const { phone, id } = entry
      tell(phone.workspace_id, 'status', () => ({ channel: phone.channel, phone: phone.id, id, status, error }))
    },
    list: (workspaceId) => [...(tables.get(workspaceId)?.values() ?? [])].reverse().slice(0, maxShown),
    find: (workspaceId, channel, phone) => tables.get(workspaceId)?.get(channel + phone),
    listen(workspaceId, response) {
      if (streamCount >= maxStreams) return false
      streamCount++
      response.setHeader('content-type', 'text/event-stream; charset=utf-8')
      response.writeHead(200, {
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
      })
      response.write(': hello\n\n')
      const listening = listeners.get(workspaceId) ?? new Set()
      listeners.set(workspaceId, listening.add(response))
      heartbeat ??= setInterval(() => {
        for (const each of listeners.values()) for (const open of each) open.write(': still here\n\n')
      }, heartbeatMs).unref()
      response.on('close', () => {
        streamCount--
        listening.delete(response)
      })
      return true
    },
    stop() {
      clearInterval(heartbeat)
      for (const listening of listeners.values()) for (const response of listening) response.end()
    },
  }
}

function dropOldest(table: Map<string, unknown>): void {
  for (const oldest of table.keys()) {
    table.delete(oldest)
    return
  }
}
