/**
 * Visitors of a site: who they are, and how often they may call.
 *
 * A visitor is a sealed token and nothing else, so making one costs no row. It
 * costs a count: so many an address and minute, and so many messages a visitor
 * and minute, and an address and minute, for whoever gathers tokens: counted in
 * the database so that several processes share it.
 *
 * Behind a proxy every caller has the proxy's address. So where the caller's is
 * not a public one, the last of `X-Forwarded-For` is taken for theirs: that one
 * the nearest proxy wrote, and nobody who comes through it can forge it.
 * Whoever calls from the same network without a proxy can, and gets nothing by
 * it but more tokens.
 */
import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { isPublicAddress } from '../../common/address.ts'
import { SealError, type Sealer } from '../lib/crypto.ts'
import type { Sql } from '../lib/db.ts'
import { ApiError } from '../lib/errors.ts'
import { newId } from '../lib/id.ts'

export type Caller = Pick<FastifyRequest, 'ip' | 'headers'>

/** An office shares an address; a person needs one token in a browser's life. */
const visitorsPerMinute = 30
/** A person does not type faster. */
const messagesPerMinute = 60
/** Ten a second, of everybody behind one address: more than the visitors of a busy site in one large network. */
const messagesPerAddress = 600

/** A new visitor of a site, or 429. */
export async function createVisitor(sql: Sql, sealer: Sealer, siteId: string, request: Caller): Promise<string> {
  const fault = `over ${visitorsPerMinute} new visitors a minute from one address`
  await count(sql, [{ key: placeOf(siteId, request), most: visitorsPerMinute, fault }])
  return sealer.seal(JSON.stringify([siteId, newId()]))
}

/** Whose token this is, if it is one of this site. */
export function openVisitor(sealer: Sealer, siteId: string, token: string): string | undefined {
  try {
    const [site, visitorId] = JSON.parse(sealer.open(token)) as unknown[]
    return site === siteId && typeof visitorId === 'string' ? visitorId : undefined
  } catch (error) {
    if (error instanceof SealError || error instanceof SyntaxError) return undefined
    throw error
  }
}

/** One more message of a visitor of a site, or 429. */
export async function countMessage(sql: Sql, siteId: string, visitorId: string, request: Caller): Promise<void> {
  const place = `${placeOf(siteId, request)} messages`
  await count(sql, [
    { key: visitorId, most: messagesPerMinute, fault: `over ${messagesPerMinute} messages a minute` },
    { key: place, most: messagesPerAddress, fault: `over ${messagesPerAddress} messages a minute from one address` },
  ])
}

export async function sweepVisitors(sql: Sql): Promise<void> {
  await sql`delete from visitor_windows where started_at < now() - interval '60 seconds'`
}

type Limit = { key: string; most: number; fault: string }

/** Count one more for each of these. In order of the key, so that two calls that share some take turns. */
async function count(sql: Sql, limits: readonly Limit[]): Promise<void> {
  const windows = await sql<{ key: string; call_count: number; seconds: number }[]>`
    insert into visitor_windows as w (key, started_at, call_count)
    select key, now(), 1 from unnest(${limits.map(({ key }) => key)}::text[]) as key order by key
    on conflict (key) do update set
      started_at = case when w.started_at > now() - interval '60 seconds' then w.started_at else now() end,
      call_count = 1 + case when w.started_at > now() - interval '60 seconds' then w.call_count else 0 end
    returning key, call_count, ceil(extract(epoch from started_at + interval '60 seconds' - now()))::int as seconds`
  for (const { key, most, fault } of limits) {
    const window = windows.find((each) => each.key === key)
    if (!window || window.call_count <= most) continue
    throw new ApiError('rate_limited', fault, { 'retry-after': String(Math.min(60, Math.max(1, window.seconds))) })
  }
}

/** Whoever calls a site from one address, as a key. */
const placeOf = (siteId: string, request: Caller) => `${siteId} ${networkOf(addressOf(request))}`

/** Where a request comes from, as far as can be told. */
export function addressOf({ ip, headers }: Caller): string {
  if (isPublicAddress(plain(ip))) return plain(ip)
  const handedOn = plain(
    String(headers['x-forwarded-for'] ?? '')
      .split(',')
      .at(-1)
      ?.trim() ?? '',
  )
  return isIP(handedOn) ? handedOn : plain(ip)
}

/** An IPv4 address that came in by IPv6 is one. */
const plain = (ip: string): string => ip.replace(/^::ffff:(?=\d+\.)/i, '')

/** One subscriber's: of an IPv6 address its first 64 bits, for the rest is theirs to choose. */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address
  const [head = '', tail] = (address.split('%')[0] ?? '').toLowerCase().split('::')
  const groups = head.split(':').filter(Boolean)
  const last = tail?.split(':').filter(Boolean) ?? []
  const zeros = Array.from({ length: Math.max(0, 8 - groups.length - last.length) }, () => '0')
  return [...groups, ...zeros, ...last].slice(0, 4).join(':')
}
