/**
 * A segment becomes recipients, as it is at the moment the broadcast starts.
 *
 * One statement lists the ids of its members, so the segment is one snapshot
 * that lasts for seconds. Rows are then made of the list in chunks, and sending
 * begins with the first. The list is stored with the broadcast: a process that
 * goes on after a crash makes rows of the same members. Their places in the
 * plan are taken with the list, for all of them or none.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { quotaErrorOf, releaseQuota, reserveQuota } from '../accounts/quota.ts'
import type { Db, Fragment, Sql } from '../lib/db.ts'
import { ApiError } from '../lib/errors.ts'
import type { FilterFields } from '../segments/filter.ts'
import { memberCondition, requireSegment } from '../segments/segments.ts'
import { cancelBroadcast, optedOut } from './broadcasts.ts'
import { addUp } from './counts.ts'
import { erased, holdErasing } from './erase.ts'

export type Filling = {
  db: Db
  fields: FilterFields
  workspaceId: string
  id: string
  /** There are recipients to send to. */
  onChunk: () => void
  isStopped: () => boolean
}

/** With the broadcast's id: the transaction that holds it lists members or writes a chunk. */
const fillLock = 7_263_554

const chunkSize = 2_000
/** A pause between chunks leaves the database to others; filling is still far ahead of any number's pace. */
const pauseMs = 20

export const withoutNumber = 'has no phone number'

/** Make the rows of a segment's broadcast, all or those still missing. Returns when another process does. */
export async function fillBroadcast({ db, fields, workspaceId, id, onChunk, isStopped }: Filling): Promise<void> {
  try {
    if (!(await listMembers(db, fields, workspaceId, id))) return
    while (!isStopped()) {
      const chunk = await writeChunk(db, workspaceId, id)
      if (!chunk) return
      onChunk()
      if (chunk.isLast) return
      await sleep(pauseMs)
    }
  } catch (error) {
    // The segment is gone, or the plan has no room for it.
    if (!(error instanceof ApiError)) throw error
    await cancelBroadcast(db, workspaceId, id, error.message)
  }
}

/** How many contacts `c` meet a condition, and how many of them can be sent to. */
export async function countMembersOf(
  sql: Sql,
  workspaceId: string,
  condition: Fragment,
): Promise<{ total: number; usable: number }> {
  const [counted] = await sql<{ total: number; usable: number }[]>`
    select count(*)::int as total,
      count(*) filter (where ${isUsable(sql)})::int as usable
    from contacts c where c.workspace_id = ${workspaceId} and ${condition}`
  return counted ?? { total: 0, usable: 0 }
}

const isUsable = (sql: Sql): Fragment => sql`(c.phone is not null and c.opted_out_at is null)`

/** False when another process holds the lock. The lock ends with the transaction. */
async function tryFillLock(sql: Sql, id: string): Promise<boolean> {
  const [lock] = await sql<{ is_held: boolean }[]>`
    select pg_try_advisory_xact_lock(${fillLock}, hashtext(${id})) as is_held`
  return lock?.is_held ?? false
}

/**
 * Store the members' ids, 16 bytes each in order, and behind them a byte each: 1 if the member can be sent to. Takes their
 * places in the plan. Answers whether there is a list to make rows of.
 */
function listMembers(db: Db, fields: FilterFields, workspaceId: string, id: string): Promise<boolean> {
  return db.begin(async (sql): Promise<boolean> => {
    if (!(await tryFillLock(sql, id))) return false
    const [broadcast] = await sql<
      { segment_id: string; filled_to: string | null; has_list: boolean; is_started: boolean }[]
    >`
      select segment_id, filled_to, member_ids is not null as has_list, started_at is not null as is_started
      from broadcasts
      where workspace_id = ${workspaceId} and id = ${id} and status = 'sending' and not is_filled`
    if (!broadcast || broadcast.has_list) return broadcast !== undefined
    const segment = await requireSegment(sql, workspaceId, broadcast.segment_id)
    const [listed] = await sql<{ usable: number }[]>`
      -- The members of the segment as they are now, as two lists.
      with listed as (
        select count(*)::int as total, count(*) filter (where ${isUsable(sql)})::int as usable,
          coalesce(string_agg(uuid_send(c.id), ''::bytea order by c.id), ''::bytea) as ids,
          coalesce(string_agg(case when ${isUsable(sql)} then '\\x01'::bytea else '\\x00'::bytea end, ''::bytea order by c.id),
            ''::bytea) as flags
        from contacts c
        where c.workspace_id = ${workspaceId} and ${memberCondition(sql, workspaceId, fields, segment)}
          and c.id > ${broadcast.filled_to ?? '00000000-0000-0000-0000-000000000000'}
      )
      -- A broadcast that an earlier release began has rows already: in the lists they are zeros.
      update broadcasts b set total_count = b.filled_count + l.total, member_ids =
        decode(repeat('00', b.filled_count * 16), 'hex') || l.ids || decode(repeat('00', b.filled_count), 'hex') || l.flags
      from listed l
      where b.workspace_id = ${workspaceId} and b.id = ${id} and b.status = 'sending'
      returning l.usable`
    if (!listed) return false
    if (broadcast.is_started) await correctRoom(sql, workspaceId, id, listed.usable)
    else await start(sql, workspaceId, id, listed.usable)
    return true
  }) as Promise<boolean>
}

async function start(sql: Sql, workspaceId: string, id: string, usable: number): Promise<void> {
  const month = await reserveQuota(sql, workspaceId, usable)
  if (month === undefined) throw await quotaErrorOf(sql, workspaceId, usable)
  await sql`
    update broadcasts set started_at = now(), plan_month = ${month}::text::date, reserved_count = ${usable}
    where workspace_id = ${workspaceId} and id = ${id}`
}

/** An earlier release began it with a count of its own: its places are those that wait and those in the list. */
async function correctRoom(sql: Sql, workspaceId: string, id: string, usable: number): Promise<void> {
  const [room] = await sql<{ plan_month: string; reserved: number; wanted: number }[]>`
    select b.plan_month::text, b.reserved_count as reserved, ${usable}::int + (
      select count(*)::int from broadcast_recipients r
      where r.workspace_id = b.workspace_id and r.broadcast_id = b.id and r.place > b.position and r.status = 'pending'
    ) as wanted
    from broadcasts b
    where b.workspace_id = ${workspaceId} and b.id = ${id}`
  if (!room) return
  await releaseQuota(sql, workspaceId, room.plan_month, room.reserved - room.wanted)
  await sql`
    update broadcasts set reserved_count = ${room.wanted} where workspace_id = ${workspaceId} and id = ${id}`
}

/** Make rows of the next members. Undefined: nothing was written, since another process does it or it was canceled. */
function writeChunk(db: Db, workspaceId: string, id: string): Promise<{ isLast: boolean } | undefined> {
  return db
    .begin(async (sql) => {
      // The list may name a contact that was erased since; until the commit no other is.
      await holdErasing(sql, workspaceId)
      if (!(await tryFillLock(sql, id))) return undefined
      const [chunk] = await sql<
        { count: number; gone: number; last: string | null; is_last: boolean; month: string }[]
      >`
        -- The part of the list that is next, and how long the list is.
        with part as materialized (
          select b.filled_count, b.plan_month, l.length, least(${chunkSize}::int, l.length - b.filled_count) as count,
            substring(b.member_ids from b.filled_count * 16 + 1 for ${chunkSize * 16}) as ids,
            substring(b.member_ids from l.length * 16 + b.filled_count + 1 for ${chunkSize}) as flags
          from broadcasts b
          cross join lateral (select octet_length(b.member_ids) / 17 as length) l
          where b.workspace_id = ${workspaceId} and b.id = ${id} and b.status = 'sending' and b.member_ids is not null
        ),
        -- Its members, one a row.
        listed as (
          select p.filled_count + i + 1 as place, encode(substring(p.ids from i * 16 + 1 for 16), 'hex')::uuid as contact_id,
            get_byte(p.flags, i) = 1 as is_usable
          from part p
          cross join lateral generate_series(0, p.count - 1) i
        ),
        -- With what is known of each now, found one by one: a plan that hashes every contact takes a second.
        found as (
          select l.place, l.is_usable, l.contact_id as listed_id, c.id as contact_id, c.phone,
            case when c.id is null then ${erased} when l.is_usable then null
              when c.phone is null then ${withoutNumber} else ${optedOut} end as reason
          from listed l
          left join lateral (
            select c.id, c.phone from contacts c
            where c.workspace_id = ${workspaceId} and c.id = l.contact_id
            limit 1
          ) c on true
        ),
        -- The recipients.
        added as (
          insert into broadcast_recipients (workspace_id, broadcast_id, place, contact_id, phone, status, reason)
          select ${workspaceId}, ${id}, place, contact_id, phone,
            case when reason is null then 'pending' else 'skipped' end, reason
          from found
          returning workspace_id, broadcast_id, 'pending' as status_before, status as status_after
        ),
        -- Their counters.
        added_up as (${addUp(sql, sql`added`)})
        select p.count, p.filled_count + p.count >= p.length as is_last, p.plan_month::text as month,
          (select count(*)::int from found where contact_id is null and is_usable) as gone,
          (select listed_id from found order by place desc limit 1) as last
        from part p`
      if (!chunk) return undefined
      // Last, so that a process that hands over waits for the commit and no longer.
      const { count, gone, last, is_last: isLast, month } = chunk
      const written = await sql`
        update broadcasts set filled_count = filled_count + ${count}, filled_to = coalesce(${last}::uuid, filled_to),
          is_filled = ${isLast}, reserved_count = reserved_count - ${gone},
          member_ids = case when ${isLast} then null else member_ids end
        where workspace_id = ${workspaceId} and id = ${id} and status = 'sending'`
      if (written.count === 0) throw new Canceled()
      if (gone > 0) await releaseQuota(sql, workspaceId, month, gone)
      return { isLast }
    })
    .catch((error) => {
      if (error instanceof Canceled) return undefined
      throw error
    }) as Promise<{ isLast: boolean } | undefined>
}

class Canceled extends Error {}
