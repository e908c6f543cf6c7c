/**
 * Visitors of a site: their tokens, and how often they may call.
 *
 * A visitor is a sealed token without a row, so creating one costs only a count. New visitors are limited per network and
 * minute. Messages are limited per visitor and per network, since a client can collect many tokens: per minute, so that
 * others are served, and per day, so that nobody fills the disk (a long message takes some 10 KB with its index).
 * The counts are in the database, so all processes share them.
 */
import { networkOf } from '../lib/client-address.ts'
import { type SealContext, SealError, type Sealer } from '../lib/crypto.ts'
import type { Sql } from '../lib/db.ts'
import { ApiError } from '../lib/errors.ts'
import { newId } from '../lib/id.ts'

/** An office shares an address; a person needs one token in a browser's life. */
const visitorsPerMinute = 30
/** A person does not type faster. */
const messagesPerMinute = 60
/** Ten a second, of everybody behind one address: more than the visitors of a busy site in one large network. */
const messagesPerAddress = 600
const messagesPerDay = 5_000
const messagesPerAddressAndDay = 20_000

/** The token is no row's. */
const tokenContext: SealContext = ['visitor_token']

/** A new visitor of a site, or 429. */
export async function createVisitor(sql: Sql, sealer: Sealer, siteId: string, address: string): Promise<string> {
  const fault = `over ${visitorsPerMinute} new visitors a minute from one address`
  await count(sql, [{ key: subscriberKey(siteId, address), most: visitorsPerMinute, fault }])
  return sealer.seal(JSON.stringify([siteId, newId()]), tokenContext)
}

/** Whose token this is, if it is one of this site. */
export function openVisitor(sealer: Sealer, siteId: string, token: string): string | undefined {
  try {
    const [site, visitorId] = JSON.parse(sealer.open(token, tokenContext)) as unknown[]
    return site === siteId && typeof visitorId === 'string' ? visitorId : undefined
  } catch (error) {
    if (error instanceof SealError || error instanceof SyntaxError) return undefined
    throw error
  }
}

/** One more message of a visitor of a site, or 429. */
export async function countMessage(sql: Sql, siteId: string, visitorId: string, address: string): Promise<void> {
  const subscriber = `${subscriberKey(siteId, address)} messages`
  const limit = (key: string, most: number, rule: string) => ({ key, most, fault: `over ${most} messages ${rule}` })
  await count(sql, [
    limit(visitorId, messagesPerMinute, 'a minute'),
    limit(subscriber, messagesPerAddress, 'a minute from one address'),
    limit(`${visitorId}${perDay}`, messagesPerDay, 'a day'),
    limit(`${subscriber}${perDay}`, messagesPerAddressAndDay, 'a day from one address'),
  ])
}

export async function sweepVisitors(sql: Sql): Promise<void> {
  await sql`
    delete from visitor_windows w
    where w.started_at < now() - interval '1 minute' and w.started_at < now() - ${windowLength(sql)}`
}

type Limit = { key: string; most: number; fault: string }

/** Counters whose key ends like this have a window of a day, the others of a minute. */
const perDay = ' day'
const windowLength = (sql: Sql) =>
  sql`case when w.key like ${`%${perDay}`} then interval '1 day' else interval '1 minute' end`

/** Counts one more for each limit; 429 when one is exceeded. In order of the key, so that two calls cannot deadlock. */
async function count(sql: Sql, limits: readonly Limit[]): Promise<void> {
  const windows = await sql<{ key: string; call_count: number; seconds: number }[]>`
    insert into visitor_windows as w (key, started_at, call_count)
    select key, now(), 1 from unnest(${limits.map(({ key }) => key)}::text[]) as key order by key
    on conflict (key) do update set
      started_at = case when w.started_at > now() - ${windowLength(sql)} then w.started_at else now() end,
      call_count = 1 + case when w.started_at > now() - ${windowLength(sql)} then w.call_count else 0 end
    returning key, call_count, ceil(extract(epoch from started_at + ${windowLength(sql)} - now()))::int as seconds`
  for (const { key, most, fault } of limits) {
    const window = windows.find((each) => each.key === key)
    if (!window || window.call_count <= most) continue
    throw new ApiError('rate_limited', fault, { 'retry-after': String(Math.max(1, window.seconds)) })
  }
}

/** All visitors of a site from one network. */
const subscriberKey = (siteId: string, address: string) => `${siteId} ${networkOf(address)}`
