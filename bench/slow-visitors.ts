/**
 * Memory with slow readers: visitors resume their stream at the start of a long conversation and read one byte per second.
 * Meanwhile one visitor reads at full speed and reconnects like a browser.
 */
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { newId, timeOfId } from '../server/lib/id.ts'
import type { Figure } from './figure.ts'
import { listProcesses, residentMb } from './memory.ts'
import { discard, type Service, startService } from './service.ts'

const visitorCount = 50
const messageCount = 3_600
const text = 'A long message, as long as one may be. '.repeat(110).slice(0, 4_096)
const attackMs = 60_000
const startOfConversation = '00000000-0000-0000-0000-000000000000'

/** No worker: its digest of 180,000 new messages would distort the measurement. */
const settings = { ROLES: 'api', PROCESSES: '1' }

export async function benchSlowVisitors(): Promise<Figure[]> {
  const first = await startService(undefined, settings)
  const { web_site_id: siteId } = JSON.parse(readFileSync(join(first.dataDir, 'demo.json'), 'utf8'))
  const tokens: string[] = []
  for (let i = 0; i < visitorCount; i++) tokens.push(await createVisitor(first, siteId))
  await first.stop()

  const service = await startService(first.dataDir, settings)
  await sleep(5_000)
  const apiPid = listProcesses(service).get('api-1') ?? 0
  const idleMb = residentMb(apiPid)
  const pathOf = (token: string) => `/web-chat/${siteId}/stream?token=${encodeURIComponent(token)}`
  const sockets = tokens.map((token) => readSlowly(service.port, pathOf(token)))
  const read = await readAll(`${service.url}${pathOf(tokens[0] ?? '')}`)
  let peakMb = 0
  for (const began = performance.now(); performance.now() - began < attackMs; await sleep(200)) {
    peakMb = Math.max(peakMb, residentMb(apiPid))
  }
  peakMb = Math.max(peakMb, residentMb(apiPid, 'VmHWM'))
  for (const socket of sockets) socket.destroy()
  await service.stop()
  discard(service)
  return [
    {
      what: `${visitorCount} slow visitors with ${messageCount} messages of ${text.length} characters: peak memory of the API process`,
      value: peakMb,
      unit: 'MB',
      goal: { below: 300 },
      note: `${Math.round(idleMb)} MB before`,
    },
    {
      what: 'meanwhile, messages received by a visitor who reads at full speed',
      value: read.count,
      unit: 'messages',
      goal: { atLeast: messageCount },
      note: `in ${read.seconds.toFixed(1)} s, over ${read.connections} connections`,
    },
  ]
}

/** Creates a visitor with one message through the API and the others inserted into the database. Returns the token. */
async function createVisitor({ url, db, workspaceId }: Service, siteId: string): Promise<string> {
  const call = async (path: string, headers: Record<string, string>, body: unknown) => {
    // All visitors share one address, and addresses have limits.
    await db`delete from visitor_windows`
    const answer = await fetch(`${url}/web-chat/${siteId}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
    if (!answer.ok) throw new Error(await answer.text())
    return ((await answer.json()) as { data: { visitor_token: string; conversation_id: string } }).data
  }
  const { visitor_token } = await call('/visitors', {}, {})
  const { conversation_id } = await call('/messages', { 'x-visitor-token': visitor_token }, { text: 'Hello' })
  const ids = Array.from({ length: messageCount - 1 }, () => newId())
  await db`
    insert into messages (workspace_id, conversation_id, id, direction, sender_type, content_type, content_text, status, created_at)
    select ${workspaceId}, ${conversation_id}, id, 'inbound', 'customer', 'text', ${text}, 'received', created_at
    from unnest(${ids}::uuid[], ${ids.map(timeOfId)}::timestamptz[]) as message (id, created_at)`
  return visitor_token
}

function readSlowly(port: number, path: string): Socket {
  const socket = connect({ port, host: '127.0.0.1' })
  socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nLast-Event-ID: ${startOfConversation}\r\n\r\n`)
  socket.on('error', () => {})
  socket.pause()
  const timer = setInterval(() => socket.read(1), 1_000)
  socket.on('close', () => clearInterval(timer))
  return socket
}

/** Reads the stream to the end of the conversation, with as many connections as needed. */
async function readAll(url: string): Promise<{ count: number; connections: number; seconds: number }> {
  const began = performance.now()
  let last = startOfConversation
  let count = 0
  let connections = 0
  while (count < messageCount && performance.now() - began < attackMs) {
    connections++
    const abort = new AbortController()
    const { body } = await fetch(url, { headers: { 'last-event-id': last }, signal: abort.signal })
    let rest = ''
    for await (const part of body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const lines = (rest + part).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        if (line.startsWith('id: ')) last = line.slice(4)
        if (line.startsWith('data: ')) count++
      }
      if (count >= messageCount) break
    }
    abort.abort()
    await sleep(200)
  }
  return { count, connections, seconds: (performance.now() - began) / 1000 }
}
