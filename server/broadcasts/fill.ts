/**
 * A segment becomes recipients, as it is at the moment the broadcast starts.
 *
 * One connection reads the whole of it from one snapshot, in order of contacts;
 * another writes it down in chunks, each with the place it got to, so sending
 * begins with the first. Whoever dies in between leaves what is written, and
 * another goes on from there with a snapshot of its own. The plan's places are
 * taken before the first chunk, for all of them or none.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Db, Fragment, Sql } from '../lib/db.ts'
import { ApiError } from '../lib/errors.ts'
import { giveRoomBack, refusalOfMany, takeRoom } from '../messages/plan-room.ts'
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

/** With the broadcast's id: whoever holds it makes the rows. */
const fillLock = 7_263_554

const chunkSize = 2_000
/** A pause between chunks lets others have the database; it is still far ahead of any number's pace. */
const pauseMs = 20

export const withoutNumber = 'has no phone number'

type Member = { id: string; phone: string | null; is_opted_out: boolean }

/** Make the rows of a segment's broadcast, all or what is still missing. Nothing when another process is at it. */
export async function fillBroadcast(filling: Filling): Promise<void> {
  const { db, workspaceId, id } = filling
  try {
    await db.begin('isolation level repeatable read', async (snapshot) => {
      const [lock] = await snapshot<{ held: boolean }[]>`
        select pg_try_advisory_xact_lock(${fillLock}, hashtext(${id})) as held`
      if (lock?.held) await fill(filling, snapshot)
    })
  } catch (error) {
    // The segment is gone, or the plan has no room for it.
    if (!(error instanceof ApiError)) throw error
    await cancelBroadcast(db, workspaceId, id, error.message)
  }
}

async function fill({ db, fields, workspaceId, id, onChunk, isStopped }: Filling, snapshot: Sql): Promise<void> {
  const [broadcast] = await db<
    { segment_id: string; filled_to: string | null; is_started: boolean; is_open: boolean }[]
  >`
    select segment_id, filled_to, started_at is not null as is_started, status = 'sending' and not is_filled as is_open
    from broadcasts where workspace_id = ${workspaceId} and id = ${id}`
  if (!broadcast?.is_open) return
  const segment = await requireSegment(snapshot, workspaceId, broadcast.segment_id)
  const condition = memberCondition(snapshot, workspaceId, fields, segment)
  const isResumed = broadcast.is_started
  if (!isResumed && !(await startFilling(db, snapshot, workspaceId, id, condition))) return

  // It is read to its end, so the plan is to be the cheapest for all of it.
  await snapshot`set local cursor_tuple_fraction = 1`
  await snapshot`
    declare members no scroll cursor for
    select c.id, c.phone, c.opted_out_at is not null as is_opted_out
    from contacts c
    where c.workspace_id = ${workspaceId} and c.id > ${broadcast.filled_to ?? '00000000-0000-0000-0000-000000000000'}
      and ${condition}
    order by c.id`
  let after = broadcast.filled_to
  for (;;) {
    const chunk = await snapshot<Member[]>`fetch forward ${snapshot.unsafe(String(chunkSize))} from members`
    const last = chunk.at(-1)
    if (!last) break
    if (isStopped() || !(await writeChunk(db, workspaceId, id, after, chunk))) return
    after = last.id
    onChunk()
    await sleep(pauseMs)
  }
  await endFilling(db, workspaceId, id, isResumed)
  onChunk()
}

/** How many of the contacts `c` that meet a condition there are, and how many can be sent to. */
export async function countMembersOf(
  sql: Sql,
  workspaceId: string,
  condition: Fragment,
): Promise<{ total: number; usable: number }> {
  const [counted] = await sql<{ total: number; usable: number }[]>`
    select count(*)::int as total,
      count(*) filter (where c.phone is not null and c.opted_out_at is null)::int as usable
    from contacts c where c.workspace_id = ${workspaceId} and ${condition}`
  return counted ?? { total: 0, usable: 0 }
}

/** Count them and take their places in the plan; false: it was canceled meanwhile. */
async function startFilling(
  db: Db,
  snapshot: Sql,
  workspaceId: string,
  id: string,
  condition: Fragment,
): Promise<boolean> {
  const { total, usable } = await countMembersOf(snapshot, workspaceId, condition)
  return db.begin(async (sql) => {
    const [open] = await sql`
      select 1 from broadcasts
      where workspace_id = ${workspaceId} and id = ${id} and status = 'sending' and started_at is null
      for no key update`
    if (!open) return false
    const month = await takeRoom(sql, workspaceId, usable)
    if (month === undefined) throw await refusalOfMany(sql, workspaceId, usable)
    await sql`
      update broadcasts set started_at = now(), total_count = ${total}, plan_month = ${month}::text::date,
        reserved_count = ${usable}
      where workspace_id = ${workspaceId} and id = ${id}`
    return true
  }) as Promise<boolean>
}

/**
 * Write some of them down behind those up to `after`. False: nothing was written, as it was canceled meanwhile, or somebody
 * else wrote: whoever loses the line of the snapshot loses the lock with it, and may still be writing.
 */
function writeChunk(
  db: Db,
  workspaceId: string,
  id: string,
  after: string | null,
  members: readonly Member[],
): Promise<boolean> {
  const rows = members.map(({ id: contact_id, phone, is_opted_out }) => {
    const reason = phone === null ? withoutNumber : is_opted_out ? optedOut : null
    return { contact_id, phone, reason }
  })
  return db
    .begin(async (sql) => {
      // The snapshot still shows whoever was erased since; until the commit nobody else is.
      await holdErasing(sql, workspaceId)
      const [before] = await sql<{ filled_count: number; plan_month: string }[]>`
      select filled_count, plan_month::text from broadcasts
      where workspace_id = ${workspaceId} and id = ${id} and status = 'sending' and filled_to is not distinct from ${after}`
      if (!before) return false
      const [gone] = await sql<{ count: number }[]>`
      with given as (
        select g.ordinality::int as n, c.id as contact_id, case when c.id is not null then g.phone end as phone,
          case when c.id is null then ${erased} else g.reason end as reason, c.id is null and g.reason is null as is_gone
        from rows from (
          json_to_recordset(${JSON.stringify(rows)}::text::json) as (contact_id uuid, phone text, reason text)
        ) with ordinality as g (contact_id, phone, reason, ordinality)
        left join contacts c on c.workspace_id = ${workspaceId} and c.id = g.contact_id
      ),
      added as (
        insert into broadcast_recipients (workspace_id, broadcast_id, place, contact_id, phone, status, reason)
        select ${workspaceId}, ${id}, ${before.filled_count}::int + n, contact_id, phone,
          case when reason is null then 'pending' else 'skipped' end, reason
        from given
        returning workspace_id, broadcast_id, 'pending' as status_before, status as status_after
      ),
      added_up as (${addUp(sql, sql`added`)})
      select count(*) filter (where is_gone)::int as count from given`
      const goneCount = gone?.count ?? 0
      // Last, so that whoever hands over waits for the commit and no longer.
      const filled = before.filled_count + rows.length
      const written = await sql`
      update broadcasts set filled_count = ${filled}, filled_to = ${members.at(-1)?.id ?? null},
        total_count = greatest(total_count, ${filled}), reserved_count = reserved_count - ${goneCount}
      where workspace_id = ${workspaceId} and id = ${id} and status = 'sending'`
      if (written.count === 0) throw new Canceled()
      if (goneCount > 0) await giveRoomBack(sql, workspaceId, before.plan_month, goneCount)
      return true
    })
    .catch((error) => {
      if (error instanceof Canceled) return false
      throw error
    }) as Promise<boolean>
}

class Canceled extends Error {}

/** These are all. After a crash the segment was taken in two parts, so what was counted at first is set right. */
function endFilling(db: Db, workspaceId: string, id: string, isResumed: boolean): Promise<void> {
  return db.begin(async (sql) => {
    const [broadcast] = await sql<{ position: number; plan_month: string; reserved_count: number }[]>`
      select position, plan_month::text, reserved_count from broadcasts
      where workspace_id = ${workspaceId} and id = ${id} and status = 'sending'
      for no key update`
    if (!broadcast) return
    const { position, plan_month: month, reserved_count: reserved } = broadcast
    let waiting = reserved
    if (isResumed) {
      const [left] = await sql<{ count: number }[]>`
        select count(*)::int as count from broadcast_recipients
        where workspace_id = ${workspaceId} and broadcast_id = ${id} and place > ${position} and status = 'pending'`
      waiting = left?.count ?? 0
      await giveRoomBack(sql, workspaceId, month, reserved - waiting)
    }
    await sql`
      update broadcasts set is_filled = true, total_count = filled_count, reserved_count = ${waiting}
      where workspace_id = ${workspaceId} and id = ${id}`
  }) as Promise<void>
}
