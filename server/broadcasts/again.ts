/**
 * Sends a broadcast again to the recipients it did not reach: those that failed, and those skipped because it was canceled.
 * The result is a new broadcast with the same template and values.
 *
 * A broadcast is sent again at most once, so two members cannot send it twice by accident. Recipients that the second one
 * does not reach either are reached by sending the second one again.
 */
import { requireQuota } from '../accounts/quota.ts'
import { badRequest } from '../lib/errors.ts'
import { newId } from '../lib/id.ts'
import { type Fragment, type Sql, withRetries } from '../lib/postgres/db.ts'
import { lengthOf } from '../lib/text.ts'
import {
  type AcceptContext,
  insertBroadcast,
  maxNameLength,
  requireApproved,
  requireName,
  senderRefOf,
} from './accept.ts'
import { canceledReason, optedOutReason, requireBroadcast, start, templateOf } from './broadcasts.ts'
import { addCounts } from './counts.ts'
import { requireCapacity } from './limits.ts'
import type { Broadcast } from './resource.ts'

export async function sendAgain(
  context: AcceptContext,
  workspaceId: string,
  id: string,
  { name: input }: { name?: string | undefined },
): Promise<Broadcast> {
  const { db, bulk } = context
  const requestedName = input === undefined ? undefined : requireName(input)
  const first = await requireBroadcast(db, workspaceId, id)
  requireCompleted(first)
  if (first.again_id !== null) throw alreadySentAgain()
  const count = await countUnreached(db, workspaceId, id)
  if (count === 0) throw noRecipientLeft()
  const { connection } = await requireApproved(context, workspaceId, first.template, undefined, senderRefOf(first))
  // Checked before up to a million rows are copied in vain.
  await requireQuota(db, workspaceId, { count: () => count })
  const againId = newId()
  const copy = async (sql: Sql) => {
    await claimAgain(sql, workspaceId, id, againId)
    const name = requestedName ?? nameAgain(first.name)
    const again = { id: againId, name, template: templateOf(first), segment_id: undefined, scheduledAt: null, count: 0 }
    await insertBroadcast(sql, workspaceId, { ...again, connectionId: connection.id })
    await copyUnreached(sql, workspaceId, first, againId)
    await requireCapacity(sql, workspaceId)
    await start(sql, workspaceId, againId, { is_filled: true })
    const { pending_count } = await requireBroadcast(sql, workspaceId, againId)
    if (pending_count === 0) throw noRecipientLeft()
  }
  await bulk(workspaceId, () => withRetries(() => db.begin(copy)))
  return requireBroadcast(db, workspaceId, againId)
}

function requireCompleted({ status, completed_at }: Broadcast): void {
  if (completed_at !== null) return
  const state = status === 'canceled' ? 'still being canceled' : status
  throw badRequest(`a broadcast that is ${state} cannot be sent again; wait until it is completed`)
}

const noRecipientLeft = () => badRequest('no recipient is left: the broadcast reached all that it could')

const alreadySentAgain = () =>
  badRequest('the broadcast was sent again already; to reach further recipients, send that one again')

const suffix = ' (again)'

/** Truncates a long name at a character boundary. */
function nameAgain(name: string): string {
  const maxLength = maxNameLength - suffix.length
  return (lengthOf(name) <= maxLength ? name : [...name].slice(0, maxLength).join('').trimEnd()) + suffix
}

/** Of concurrent requests one succeeds. The others wait here for its row lock. */
async function claimAgain(sql: Sql, workspaceId: string, id: string, againId: string): Promise<void> {
  const claimed = await sql`
    update broadcasts set again_id = ${againId}
    where workspace_id = ${workspaceId} and id = ${id} and again_id is null`
  if (claimed.count === 0) throw alreadySentAgain()
}

/** Condition: recipient `r` was not reached, and was not erased since. One without a number has its contact. */
const isUnreached = (sql: Sql): Fragment =>
  sql`((r.phone is not null or r.contact_id is not null) and (r.status = 'failed' or r.status = 'skipped' and r.reason = ${canceledReason}))`

async function countUnreached(sql: Sql, workspaceId: string, id: string): Promise<number> {
  const [unreached] = await sql<{ count: number }[]>`
    select count(*)::int as count
    from broadcast_recipients r
    left join contacts c on c.workspace_id = r.workspace_id and c.id = r.contact_id
    where r.workspace_id = ${workspaceId} and r.broadcast_id = ${id} and ${isUnreached(sql)} and c.opted_out_at is null`
  return unreached?.count ?? 0
}

/** Positions per statement. A million recipients are copied in about 20 s. */
const chunkSize = 50_000

/** Keeps the order. Contacts that opted out since are skipped; recipients without a contact are checked at the start. */
async function copyUnreached(
  sql: Sql,
  workspaceId: string,
  { id, total_count: last }: Broadcast,
  againId: string,
): Promise<void> {
  let copied = 0
  for (let place = 0; place < last; place += chunkSize) {
    const [chunk] = await sql<{ count: number }[]>`
      with inserted_recipients as (
        insert into broadcast_recipients
          (workspace_id, broadcast_id, place, contact_id, phone, identity, name, params, status, reason)
        select r.workspace_id, ${againId}, ${copied}::int + row_number() over (order by r.place), r.contact_id, r.phone,
          r.identity, r.name, r.params, case when c.opted_out_at is null then 'pending' else 'skipped' end,
          case when c.opted_out_at is not null then ${optedOutReason} end
        from broadcast_recipients r
        left join contacts c on c.workspace_id = r.workspace_id and c.id = r.contact_id
        where r.workspace_id = ${workspaceId} and r.broadcast_id = ${id} and r.place > ${place}
          and r.place <= ${place + chunkSize} and ${isUnreached(sql)}
        returning workspace_id, broadcast_id, 'pending' as status_before, status as status_after
      ),
      updated_counts as (${addCounts(sql, sql`inserted_recipients`)})
      select count(*)::int as count from inserted_recipients`
    copied += chunk?.count ?? 0
  }
  await sql`
    update broadcasts set total_count = ${copied}, filled_count = ${copied}
    where workspace_id = ${workspaceId} and id = ${againId}`
}
