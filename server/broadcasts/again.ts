/**
 * A broadcast again, to those it did not reach: who failed, and who was left
 * out because it was canceled. It is a broadcast of its own, with the template
 * and everybody's values as they were.
 *
 * There is one at most: whoever it does not reach either is reached by sending
 * that one again. So nobody gets it twice because two members thought of it.
 */

import { requireQuotaFor } from '../accounts/quota.ts'
import { requireMsgapp } from '../channels/connections.ts'
import { getTemplate } from '../channels/templates.ts'
import { nowMs } from '../lib/clock.ts'
import { type Fragment, type Sql, withRetries } from '../lib/db.ts'
import { badRequest } from '../lib/errors.ts'
import { newId, timeOfId } from '../lib/id.ts'
import { lengthOf } from '../lib/text.ts'
import { requireTemplate } from '../messages/template.ts'
import { type Accepting, requireName } from './accept.ts'
import {
  type Broadcast,
  type BroadcastDetails,
  beginSending,
  canceled,
  optedOut,
  requireBroadcast,
} from './broadcasts.ts'
import { addUp } from './counts.ts'

export async function sendAgain(
  { db, sealer, channel }: Accepting,
  workspaceId: string,
  id: string,
  { name: given }: { name?: string | undefined },
): Promise<Broadcast & BroadcastDetails> {
  const wanted = given === undefined ? undefined : requireName(given)
  const first = await requireBroadcast(db, workspaceId, id)
  requireOver(first)
  if (first.again_id !== null) throw againAlready()
  const count = await countUnreached(db, workspaceId, id)
  if (count === 0) throw nobodyLeft()
  const connection = await requireMsgapp(db, sealer, workspaceId)
  const { name, language } = first.template
  await requireTemplate(
    db,
    channel,
    connection,
    first.template,
    await getTemplate(db, workspaceId, name, language),
    () => true,
  )
  // Said before a million rows are copied for nothing.
  await requireQuotaFor(db, workspaceId, new Date(nowMs()), async () => count)
  const again = { id: newId(), name: wanted ?? nameAgain(first.name) }
  await withRetries(() =>
    db.begin(async (sql) => {
      await claim(sql, workspaceId, id, again.id)
      await copyBroadcast(sql, workspaceId, id, again)
      await copyUnreached(sql, workspaceId, first, again.id)
      await beginSending(sql, workspaceId, again.id)
      const { pending_count } = await requireBroadcast(sql, workspaceId, again.id)
      if (pending_count === 0) throw nobodyLeft()
    }),
  )
  return requireBroadcast(db, workspaceId, again.id)
}

function requireOver({ status, completed_at }: Broadcast): void {
  if (completed_at !== null) return
  const state = status === 'canceled' ? 'still being canceled' : status
  throw badRequest(`a broadcast that is ${state} cannot be sent again; wait until it is over`)
}

const nobodyLeft = () => badRequest('nobody is left to send it to: it reached everybody it could')

const againAlready = () => badRequest('it was sent again already; send that one again for whom it did not reach either')

const suffix = ' (again)'
const maxName = 80

/** Cut, if it must be, at the end of a character. */
function nameAgain(name: string): string {
  const room = maxName - suffix.length
  return (lengthOf(name) <= room ? name : [...name].slice(0, room).join('').trimEnd()) + suffix
}

/** Of several at once, one: the others wait for it here. */
async function claim(sql: Sql, workspaceId: string, id: string, againId: string): Promise<void> {
  const claimed = await sql`
    update broadcasts set again_id = ${againId}
    where workspace_id = ${workspaceId} and id = ${id} and again_id is null`
  if (claimed.count === 0) throw againAlready()
}

/** Recipient `r` was not reached, and is not erased since. */
const isUnreached = (sql: Sql): Fragment =>
  sql`(r.phone is not null and (r.status = 'failed' or r.status = 'skipped' and r.reason = ${canceled}))`

async function countUnreached(sql: Sql, workspaceId: string, id: string): Promise<number> {
  const [unreached] = await sql<{ count: number }[]>`
    select count(*)::int as count
    from broadcast_recipients r
    left join contacts c on c.workspace_id = r.workspace_id and c.id = r.contact_id
    where r.workspace_id = ${workspaceId} and r.broadcast_id = ${id} and ${isUnreached(sql)} and c.opted_out_at is null`
  return unreached?.count ?? 0
}

async function copyBroadcast(
  sql: Sql,
  workspaceId: string,
  id: string,
  again: { id: string; name: string },
): Promise<void> {
  await sql`
    insert into broadcasts (workspace_id, id, name, status, template_name, template_language, params, is_filled, created_at)
    select workspace_id, ${again.id}, ${again.name}, 'scheduled', template_name, template_language, params, true,
      ${timeOfId(again.id)}
    from broadcasts where workspace_id = ${workspaceId} and id = ${id}`
}

/** So many places at a time: a million are copied in some 20 s, and no statement takes long. */
const chunkSize = 50_000

/** In the order they were in. Whoever opted out since is passed over; those without a contact yet are asked at the start. */
async function copyUnreached(
  sql: Sql,
  workspaceId: string,
  { id, total_count: last }: Broadcast,
  againId: string,
): Promise<void> {
  let copied = 0
  for (let place = 0; place < last; place += chunkSize) {
    const [chunk] = await sql<{ count: number }[]>`
      with added as (
        insert into broadcast_recipients
          (workspace_id, broadcast_id, place, contact_id, phone, identity, name, params, status, reason)
        select r.workspace_id, ${againId}, ${copied}::int + row_number() over (order by r.place), r.contact_id, r.phone,
          r.identity, r.name, r.params, case when c.opted_out_at is null then 'pending' else 'skipped' end,
          case when c.opted_out_at is not null then ${optedOut} end
        from broadcast_recipients r
        left join contacts c on c.workspace_id = r.workspace_id and c.id = r.contact_id
        where r.workspace_id = ${workspaceId} and r.broadcast_id = ${id} and r.place > ${place}
          and r.place <= ${place + chunkSize} and ${isUnreached(sql)}
        returning workspace_id, broadcast_id, 'pending' as status_before, status as status_after
      ),
      added_up as (${addUp(sql, sql`added`)})
      select count(*)::int as count from added`
    copied += chunk?.count ?? 0
  }
  await sql`
    update broadcasts set total_count = ${copied}, filled_count = ${copied}
    where workspace_id = ${workspaceId} and id = ${againId}`
}
