/**
 * Fills a broadcast: the contacts of its audience become recipients.
 *
 * One statement lists the ids of the members when the broadcast starts, so the audience is one snapshot (4 seconds for a
 * million). The list is stored with the broadcast. Chunks of it become recipient rows, and sending begins with the first
 * chunk. After a crash another process continues with the same list. The quota of all usable members is reserved with the
 * list, all or none.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { releaseQuota } from '../accounts/quota.ts'
import type { Channel } from '../channels/channel.ts'
import { getTemplate } from '../channels/templates.ts'
import { ApiError } from '../lib/errors.ts'
import type { Db, Fragment, Sql } from '../lib/postgres/db.ts'
import type { FilterFields } from '../segments/filter.ts'
import { type Audience, audienceOf, requireAudience } from './audience.ts'
import { cancelBroadcast, optedOutReason, reserveRecipients } from './broadcasts.ts'
import { addCounts } from './counts.ts'
import { blockErasing, erasedReason } from './erase.ts'
import { senderOf } from './pace.ts'
import { needsPhoneReason, noPhoneReason, type Reach, unusableCases } from './reach.ts'

export type FillContext = {
  db: Db
  channel: Pick<Channel, 'needsPhone'>
  fields: FilterFields
  workspaceId: string
  id: string
  /** Called after each chunk. */
  onChunk: () => void
  isStopped: () => boolean
}

/** The first key of an advisory lock, with the broadcast's id as the second: one process at a time fills a broadcast. */
const fillLock = 7_263_554

const chunkSize = 2_000
/** The pause between chunks, for other users of the database. Filling is still far ahead of any number's pace. */
const pauseMs = 20

/** Writes the recipients that are still missing. Returns when another process fills the broadcast. */
export async function fillBroadcast(context: FillContext): Promise<void> {
  const { db, workspaceId, id, onChunk, isStopped } = context
  try {
    if (!(await listMembers(context))) return
    while (!isStopped()) {
      const chunk = await writeChunk(db, workspaceId, id)
      if (!chunk) return
      onChunk()
      if (chunk.isLast) return
      await sleep(pauseMs)
    }
  } catch (error) {
    // The segment was deleted, or the plan does not allow so many messages.
    if (!(error instanceof ApiError)) throw error
    await cancelBroadcast(db, workspaceId, id, error.message)
  }
}

/** Counts the contacts `c` that meet a condition: all, and those that can be sent to. */
export async function countMembersOf(
  sql: Sql,
  workspaceId: string,
  condition: Fragment,
  reach: Reach,
): Promise<{ total: number; usable: number }> {
  const [counted] = await sql<{ total: number; usable: number }[]>`
    select count(*)::int as total,
      count(*) filter (where case ${unusableCases(sql, reach)} end is null)::int as usable
    from contacts c where c.workspace_id = ${workspaceId} and ${condition}`
  return counted ?? { total: 0, usable: 0 }
}

type ListedBroadcast = {
  segment_id: string | null
  audience: Audience | null
  template_name: string
  template_language: string
  has_list: boolean
  /** That of the number which sends it; null without a number. */
  scope: string | null
}

/** Returns false when another process has the lock. The lock ends with the transaction. */
async function tryFillLock(sql: Sql, id: string): Promise<boolean> {
  const [lock] = await sql<{ is_held: boolean }[]>`
    select pg_try_advisory_xact_lock(${fillLock}, hashtext(${id})) as is_held`
  return lock?.is_held ?? false
}

/**
 * Stores the list of members: their ids in order, 16 bytes each, then one byte each: 1 for a usable member, 2 if the template needs a
 * number, 3 if the contact opted out, 0 for no number. In a list of an earlier release 0 also means an opt-out.
 * Reserves the quota and starts the broadcast. Returns whether there is a list to write rows from.
 */
function listMembers({ db, channel, fields, workspaceId, id }: FillContext): Promise<boolean> {
  return db.begin(async (sql): Promise<boolean> => {
    if (!(await tryFillLock(sql, id))) return false
    const [broadcast] = await sql<ListedBroadcast[]>`
      select b.segment_id, b.audience, b.template_name, b.template_language, b.member_ids is not null as has_list, (
          select k.scope from channel_connections k where k.workspace_id = b.workspace_id and k.id = ${senderOf(sql)}
        ) as scope
      from broadcasts b
      where b.workspace_id = ${workspaceId} and b.id = ${id} and b.status = 'sending' and not b.is_filled`
    if (!broadcast || broadcast.has_list) return broadcast !== undefined
    const audience = audienceOf(broadcast)
    if (!audience) throw new Error('a broadcast without recipients has no audience')
    const { condition } = await requireAudience(sql, workspaceId, fields, audience)
    const { template_name: name, template_language: language } = broadcast
    const scope = broadcast.scope ?? ''
    const template = await getTemplate(sql, workspaceId, name, language, scope)
    const reach: Reach = { scope, needsPhone: (template && channel.needsPhone?.(template)) ?? false }
    const [listed] = await sql<{ usable: number }[]>`
      with
      -- The audience now, in the order of the list. Sorted here, so that each reason is found once.
      audience_members as (
        select c.id, case ${unusableCases(sql, reach)} end as reason
        from contacts c
        where c.workspace_id = ${workspaceId} and ${condition}
        order by c.id
      ),
      -- Their ids and their flags.
      member_list as (
        select count(*)::int as total, count(*) filter (where m.reason is null)::int as usable,
          coalesce(string_agg(uuid_send(m.id), ''::bytea order by m.id), ''::bytea) as ids,
          coalesce(string_agg(
            case when m.reason is null then '\\x01'::bytea when m.reason = ${needsPhoneReason} then '\\x02'::bytea
              when m.reason = ${optedOutReason} then '\\x03'::bytea else '\\x00'::bytea end, ''::bytea order by m.id),
            ''::bytea) as flags
        from audience_members m
      )
      update broadcasts b set total_count = l.total, member_ids = l.ids || l.flags
      from member_list l
      where b.workspace_id = ${workspaceId} and b.id = ${id} and b.status = 'sending'
      returning l.usable`
    if (!listed) return false
    await reserveRecipients(sql, workspaceId, id, listed.usable)
    return true
  }) as Promise<boolean>
}

/** Writes the recipients of the next chunk. Undefined: another process fills the broadcast, or it was canceled. */
function writeChunk(db: Db, workspaceId: string, id: string): Promise<{ isLast: boolean } | undefined> {
  return db
    .begin(async (sql) => {
      // The list may have a contact that was erased since. No further contact is erased until the commit.
      await blockErasing(sql, workspaceId)
      if (!(await tryFillLock(sql, id))) return undefined
      const [chunk] = await sql<{ count: number; gone: number; is_last: boolean; month: string }[]>`
        with
        -- The next part of the list, and the length of the list.
        chunk as materialized (
          select b.filled_count, b.plan_month, l.length, least(${chunkSize}::int, l.length - b.filled_count) as count,
            substring(b.member_ids from b.filled_count * 16 + 1 for ${chunkSize * 16}) as ids,
            substring(b.member_ids from l.length * 16 + b.filled_count + 1 for ${chunkSize}) as flags
          from broadcasts b
          cross join lateral (select octet_length(b.member_ids) / 17 as length) l
          where b.workspace_id = ${workspaceId} and b.id = ${id} and b.status = 'sending' and b.member_ids is not null
        ),
        -- The members of the chunk, one per row.
        chunk_members as (
          select p.filled_count + i + 1 as place, encode(substring(p.ids from i * 16 + 1 for 16), 'hex')::uuid as contact_id,
            get_byte(p.flags, i) as flag
          from chunk p
          cross join lateral generate_series(0, p.count - 1) i
        ),
        -- The members with their contacts, looked up one at a time: a plan that hashes all contacts takes a second.
        current_members as (
          select l.place, l.flag = 1 as is_usable, c.id as contact_id, c.phone,
            case when c.id is null then ${erasedReason} when l.flag = 1 then null when l.flag = 2 then ${needsPhoneReason}
              when l.flag = 3 or c.phone is not null then ${optedOutReason} else ${noPhoneReason} end as reason
          from chunk_members l
          left join lateral (
            select c.id, c.phone from contacts c
            where c.workspace_id = ${workspaceId} and c.id = l.contact_id
            limit 1
          ) c on true
        ),
        -- The recipients; a member that cannot be sent to is skipped.
        inserted_recipients as (
          insert into broadcast_recipients (workspace_id, broadcast_id, place, contact_id, phone, status, reason)
          select ${workspaceId}, ${id}, place, contact_id, phone,
            case when reason is null then 'pending' else 'skipped' end, reason
          from current_members
          returning workspace_id, broadcast_id, 'pending' as status_before, status as status_after
        ),
        -- The counters of the broadcast.
        updated_counts as (${addCounts(sql, sql`inserted_recipients`)})
        select p.count, p.filled_count + p.count >= p.length as is_last, p.plan_month::text as month,
          (select count(*)::int from current_members where contact_id is null and is_usable) as gone
        from chunk p`
      if (!chunk) return undefined
      // Last, so that the broadcast's row is locked only until the commit: handing over needs it (lock order: ARCHITECTURE.md).
      const { count, gone, is_last: isLast, month } = chunk
      const updated = await sql`
        update broadcasts set filled_count = filled_count + ${count}, is_filled = ${isLast},
          reserved_count = reserved_count - ${gone}, member_ids = case when ${isLast} then null else member_ids end
        where workspace_id = ${workspaceId} and id = ${id} and status = 'sending'`
      if (updated.count === 0) throw new CanceledError()
      if (gone > 0) await releaseQuota(sql, workspaceId, month, gone)
      return { isLast }
    })
    .catch((error) => {
      if (error instanceof CanceledError) return undefined
      throw error
    }) as Promise<{ isLast: boolean } | undefined>
}

class CanceledError extends Error {}
