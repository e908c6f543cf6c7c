/**
 * Visitors of a site: who they are, and how often they may call.
 *
 * A visitor is a sealed token and nothing else, so making one costs no row. It
 * costs a count: so many an address and minute, and so many messages a visitor
 * and minute, counted in the database so that several processes share it.
 *
 * Behind a proxy every caller has the proxy's address. So where the caller's is
 * not a public one, the last of `X-Forwarded-For` is taken for theirs: that one
 * the nearest proxy wrote, and nobody who comes through it can forge it.
 * Whoever calls from the same network without a proxy can, and gets nothing by
 * it but more tokens.
 */
import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { isPublicAddress } from '../lib/address.ts'
import { SealError, type Sealer } from '../lib/crypto.ts'
import type { Sql } from '../lib/db.ts'
import { ApiError } from '../lib/errors.ts'
import { newId } from '../lib/id.ts'

/** An office shares an address; a person needs one token in a browser's life. */
const visitorsPerMinute = 30
/** A person does not type faster. */
const messagesPerMinute = 60

/** A new visitor of a site, or 429. */
export async function createVisitor(
  sql: Sql,
  sealer: Sealer,
  siteId: string,
  request: Pick<FastifyRequest, 'ip' | 'headers'>,
): Promise<string> {
  const key = `${siteId} ${networkOf(addressOf(request))}`
  await count(sql, key, visitorsPerMinute, `over ${visitorsPerMinute} new visitors a minute from one address`)
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

/** One more message of a visitor, or 429. */
export async function countMessage(sql: Sql, visitorId: string): Promise<void> {
  await count(sql, visitorId, messagesPerMinute, `over ${messagesPerMinute} messages a minute`)
}

export async function sweepVisitors(sql: Sql): Promise<void> {
  await sql`delete from visitor_windows where started_at < now() - interval '60 seconds'`
}

async function count(sql: Sql, key: string, most: number, fault: string): Promise<void> {
  const [window] = await sql<{ call_count: number; seconds: number }[]>`
    insert into visitor_windows as w (key, started_at, call_count)
    values (${key}, now(), 1)
    on conflict (key) do update set
      started_at = case when w.started_at > now() - interval '60 seconds' then w.started_at else now() end,
      call_count = 1 + case when w.started_at > now() - interval '60 seconds' then w.call_count else 0 end
    returning call_count, ceil(extract(epoch from started_at + interval '60 seconds' - now()))::int as seconds`
  if (!window || window.call_count <= most) return
  throw new ApiError('rate_limited', fault, { 'retry-after': String(Math.min(60, Math.max(1, window.seconds))) })
}

/** Where a request comes from, as far as can be told. */
export function addressOf({ ip, headers }: Pick<FastifyRequest, 'ip' | 'headers'>): string {
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
