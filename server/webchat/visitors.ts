/**
 * Visitors of a site: their tokens and rate limits.
 *
 * A visitor is a sealed token without a row, so creating one writes only a counter. New visitors are limited per network and
 * minute. Messages are limited per visitor and per network, because a client can collect many tokens. The limit per minute
 * protects other visitors, and the limit per day the disk: a long message takes about 10 KB with its index. The counters
 * are in the database, so all processes share them. Only signals, such as typing, are counted in memory: they must be cheap.
 *
 * The token of a visitor whom the site signed in also has the identity. It ends when the identity token expires, and with the
 * identity secret.
 */
import { generationOf, type IdentitySite } from '../channels/identity-secret.ts'
import { sweepVisitorsTyping } from '../conversations/visitor-presence.ts'
import { nowMs } from '../lib/clock.ts'
import { type SealContext, SealError, type Sealer } from '../lib/crypto.ts'
import { ApiError } from '../lib/errors.ts'
import { networkOf } from '../lib/http/client-address.ts'
import { newId } from '../lib/id.ts'
import type { Sql } from '../lib/postgres/db.ts'
import { type Identity, visitorIdOf } from './identity.ts'

export type Visitor = {
  id: string
  /** Undefined: nothing proves who the visitor is. */
  identity: Identity | undefined
}
type Site = IdentitySite & { id: string }

/** Per network. A browser needs one token, but an office shares an address. */
const visitorsPerMinute = 30
/** Per visitor: no person types faster. */
const messagesPerMinute = 60
/** Per network: more than the visitors of a busy site in one large office. */
const messagesPerNetwork = 600
const messagesPerDay = 5_000
const messagesPerNetworkAndDay = 20_000
/** Per visitor. A replay of a long conversation takes up to 80 streams (`stream.ts`). */
const streamsPerMinute = 120
/** Files of up to 10 MiB, sent or not: a network can store at most 2 GiB a day. No limit is shared with other networks. */
const filesPerMinute = 10
const filesPerNetwork = 30
const filesPerDay = 50
const filesPerNetworkAndDay = 200
/** Per network. A page of a signed-in customer identifies them when it loads. */
const identitiesPerNetwork = 600
/** Typing and read marks: the widget sends one every few seconds. */
const signalsPerMinute = 60
const signalsPerNetwork = 1_200

/** A token belongs to no row. */
const tokenContext: SealContext = ['visitor_token']

/** Returns the token of a new visitor. Throws 429 above the limit. */
export async function createVisitor(sql: Sql, sealer: Sealer, siteId: string, address: string): Promise<string> {
  const message = `over ${visitorsPerMinute} new visitors a minute from one address`
  await count(sql, [{ key: networkKey(siteId, address), max: visitorsPerMinute, message }])
  return sealer.seal(JSON.stringify([siteId, newId()]), tokenContext)
}

/** Returns the token of a visitor whom the site signed in. */
export function createSignedVisitor(sealer: Sealer, site: Site, identity: Identity): { token: string; id: string } {
  const id = visitorIdOf(site.id, identity.customer_id)
  return { token: sealer.seal(JSON.stringify([site.id, id, identity, generationOf(site)]), tokenContext), id }
}

/** Counts an attempt to identify a visitor. Throws 429 above the limit. */
export async function countIdentity(sql: Sql, siteId: string, address: string): Promise<void> {
  const message = `over ${identitiesPerNetwork} identity tokens a minute from one address`
  await count(sql, [{ key: `${networkKey(siteId, address)} identities`, max: identitiesPerNetwork, message }])
}

/** The visitor of a token of this site; undefined for any other text, and for an identity that has ended. */
export function openVisitor(sealer: Sealer, site: Site, token: string): Visitor | undefined {
  try {
    const [siteId, id, identity, generation] = JSON.parse(sealer.open(token, tokenContext)) as SealedVisitor
    if (siteId !== site.id || typeof id !== 'string') return undefined
    if (identity && (identity.expires_at_ms <= nowMs() || generation !== generationOf(site))) return undefined
    return { id, identity }
  } catch (error) {
    if (error instanceof SealError || error instanceof SyntaxError) return undefined
    throw error
  }
}

type SealedVisitor = [siteId: string, id: string, identity?: Identity, generation?: string]

/** Counts a message of a visitor. Throws 429 above a limit. */
export async function countMessage(sql: Sql, siteId: string, visitorId: string, address: string): Promise<void> {
  const network = `${networkKey(siteId, address)} messages`
  const limit = (key: string, max: number, rule: string) => ({ key, max, message: `over ${max} messages ${rule}` })
  await count(sql, [
    limit(visitorId, messagesPerMinute, 'a minute'),
    limit(network, messagesPerNetwork, 'a minute from one address'),
    limit(`${visitorId}${perDay}`, messagesPerDay, 'a day'),
    limit(`${network}${perDay}`, messagesPerNetworkAndDay, 'a day from one address'),
  ])
}

/** Counts a stream that a visitor opens. Throws 429 above the limit. */
export async function countStream(sql: Sql, visitorId: string): Promise<void> {
  const message = `over ${streamsPerMinute} streams a minute`
  await count(sql, [{ key: `${visitorId} streams`, max: streamsPerMinute, message }])
}

/** Counts a file of a visitor. Throws 429 above a limit. */
export async function countFile(sql: Sql, siteId: string, visitorId: string, address: string): Promise<void> {
  const network = `${networkKey(siteId, address)} files`
  const limit = (key: string, max: number, rule: string) => ({ key, max, message: `over ${max} files ${rule}` })
  await count(sql, [
    limit(`${visitorId} files`, filesPerMinute, 'a minute'),
    limit(network, filesPerNetwork, 'a minute from one address'),
    limit(`${visitorId} files${perDay}`, filesPerDay, 'a day'),
    limit(`${network}${perDay}`, filesPerNetworkAndDay, 'a day from one address'),
  ])
}

/** Returns a function that counts a signal of a visitor in this process. It throws 429 above a limit. */
export function createSignalCounter(): (visitorId: string, address: string) => void {
  let minute = 0
  let counts = new Map<string, number>()
  return (visitorId, address) => {
    const now = Math.floor(performance.now() / 60_000)
    if (now !== minute) counts = new Map()
    minute = now
    // The network first: above its limit, further visitors of it take no memory.
    for (const [key, max] of [
      [networkOf(address), signalsPerNetwork],
      [visitorId, signalsPerMinute],
    ] as const) {
      const number = (counts.get(key) ?? 0) + 1
      counts.set(key, number)
      if (number > max) throw new ApiError('rate_limited', `over ${max} signals a minute`, { 'retry-after': '60' })
    }
  }
}

export async function sweepVisitors(sql: Sql): Promise<void> {
  await sql`
    delete from visitor_windows w
    where w.started_at < now() - interval '1 minute' and w.started_at < now() - ${windowLength(sql)}`
  await sweepVisitorsTyping(sql)
}

type Limit = { key: string; max: number; message: string }

/** Counters whose key ends in this have a window of a day, the others of a minute. */
const perDay = ' day'
const windowLength = (sql: Sql) =>
  sql`case when w.key like ${`%${perDay}`} then interval '1 day' else interval '1 minute' end`

/** Increments each counter. 429 when one exceeds its limit. Sorted by key, so that two calls cannot deadlock. */
async function count(sql: Sql, limits: readonly Limit[]): Promise<void> {
  const windows = await sql<{ key: string; call_count: number; seconds: number }[]>`
    insert into visitor_windows as w (key, started_at, call_count)
    select key, now(), 1 from unnest(${limits.map(({ key }) => key)}::text[]) as key order by key
    on conflict (key) do update set
      started_at = case when w.started_at > now() - ${windowLength(sql)} then w.started_at else now() end,
      call_count = 1 + case when w.started_at > now() - ${windowLength(sql)} then w.call_count else 0 end
    returning key, call_count, ceil(extract(epoch from started_at + ${windowLength(sql)} - now()))::int as seconds`
  for (const { key, max, message } of limits) {
    const window = windows.find((each) => each.key === key)
    if (!window || window.call_count <= max) continue
    throw new ApiError('rate_limited', message, { 'retry-after': String(Math.max(1, window.seconds)) })
  }
}

/** The key of all visitors of a site from one network. */
const networkKey = (siteId: string, address: string) => `${siteId} ${networkOf(address)}`
