/**
 * Lists of the public API against a plain implementation on the same database, in alternating rounds: the first page, which all
 * callers share, and pages of their own.
 */
import { freePort } from '../scripts/free-port.ts'
import { encodeCursor } from '../server/lib/page.ts'
import type { Figure } from './figure.ts'
import { insertConversations, insertPeople } from './people.ts'
import {
  createKeys,
  describeCpu,
  discard,
  measureLoad,
  type Service,
  startPlain,
  startService,
  toRequest,
} from './service.ts'

const people = 10_000
const rounds = 3
const connections = 64
const seconds = 4
const pages = 1_000

export async function benchLists(): Promise<Figure[]> {
  const service = await startService()
  const { db, workspaceId } = service
  await insertPeople(db, workspaceId, 0, people)
  await insertConversations(db, workspaceId)
  await insertMessages(service)
  const keys = await createKeys(service, 4_000)
  const plainPort = await freePort()
  const plain = await startPlain(service, plainPort)
  const [talk] = await db<{ id: string }[]>`
    select conversation_id as id from messages group by conversation_id order by count(*) desc limit 1`
  const figures: Figure[] = []
  for (const { name, path, ids } of [
    { name: 'GET /conversations', path: '/v1/conversations', ids: await pick(service, 'conversations') },
    { name: 'GET /contacts', path: '/v1/contacts', ids: await pick(service, 'contacts') },
    { name: 'GET /conversations/{id}/messages', path: `/v1/conversations/${talk?.id}/messages`, ids: [] },
  ]) {
    const requests = (where: (i: number) => string) =>
      keys.map((token, i) => toRequest({ path: `${path}?limit=50${where(i)}`, token }))
    const same = () => ''
    figures.push(await comparePages(service, plainPort, `${name}, first page`, requests(same), requests(same)))
    if (ids.length === 0) continue
    const idOf = (i: number) => ids[i % ids.length] ?? ''
    const ours = requests((i) => `&cursor=${encodeCursor(idOf(i))}`)
    const theirs = requests((i) => `&before=${idOf(i)}`)
    figures.push(await comparePages(service, plainPort, `${name}, ${pages} different pages`, ours, theirs))
  }
  figures.push(await compareMessageWithMe(service, keys))
  await plain.stop()
  await service.stop()
  discard(service)
  return figures
}

async function comparePages(
  service: Service,
  plainPort: number,
  what: string,
  ours: string[],
  theirs: string[],
): Promise<Figure> {
  const { ratio, note } = await alternate(service, ours, { port: plainPort, requests: theirs })
  const whole = `${what} of 50, 64 connections, multiple of a plain implementation (median of ${rounds})`
  return { what: whole, value: ratio, unit: '×', goal: { atLeast: 3 }, note }
}

/** One message by its id, against `GET /me`. */
async function compareMessageWithMe(service: Service, keys: readonly string[]): Promise<Figure> {
  const ids = await pick(service, 'messages')
  const reads = keys.map((token, i) => toRequest({ path: `/v1/messages/${ids[i % ids.length]}`, token }))
  const me = keys.map((token) => toRequest({ path: '/v1/me', token }))
  const { ratio, note } = await alternate(service, reads, { port: service.port, requests: me })
  const what = `GET /messages/{id}, 64 connections, cost as a multiple of GET /me (median of ${rounds})`
  return { what, value: 1 / ratio, unit: '×', goal: { below: 2 }, note }
}

/** Sends requests to the service and to a baseline in alternating rounds. `ratio` is the median of the rates' ratios. */
async function alternate(service: Service, requests: string[], other: { port: number; requests: string[] }) {
  const ratios: number[] = []
  const rates: string[] = []
  for (let round = 0; round < rounds; round++) {
    await service.db`truncate api_key_windows`
    const baseline = await measureLoad({ ...other, connections, seconds })
    await service.db`truncate api_key_windows`
    const measured = await measureLoad({ port: service.port, requests, connections, seconds })
    if (measured.failures + baseline.failures > 0)
      throw new Error(`${measured.failures} and ${baseline.failures} responses were not 200`)
    ratios.push(measured.perSecond / baseline.perSecond)
    rates.push(`${Math.round(measured.perSecond)}/s against ${Math.round(baseline.perSecond)}/s`)
  }
  ratios.sort((a, b) => a - b)
  await service.db`truncate api_key_windows`
  const cpu = await describeCpu(service, { port: service.port, requests, connections, seconds })
  return { ratio: ratios[Math.floor(rounds / 2)] ?? 0, note: `${rates.join(', ')}; ${cpu}` }
}

/** Positions all over a table. */
async function pick({ db, workspaceId }: Service, table: string): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    select id from ${db(table)} where workspace_id = ${workspaceId} order by md5(id::text) limit ${pages}`
  return rows.map(({ id }) => id)
}

/** Gives every conversation a last message, and the newest one 200 messages. */
async function insertMessages({ db, workspaceId }: Service): Promise<void> {
  await db`
    update conversations set last_message_text = 'Is my order on its way? It was promised for Tuesday.', last_message_at = updated_at,
      last_inbound_at = updated_at, unread_count = 1
    where workspace_id = ${workspaceId}`
  await db`
    insert into messages (workspace_id, conversation_id, id, direction, sender_type, content_type, content_text, status, created_at)
    select ${workspaceId}, v.id, gen_random_uuid(), 'inbound', 'customer', 'text', 'Message ' || i || ' about the order of last week', 'received', now()
    from (select id from conversations where workspace_id = ${workspaceId} order by id desc limit 1) v, generate_series(1, 200) i`
  await db`vacuum full analyze conversations`
  await db`vacuum analyze messages`
}
