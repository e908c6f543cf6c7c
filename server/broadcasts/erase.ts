/**
 * What broadcasts remember of somebody, erased: number, name, own values, and
 * which contact and message it was. Places and outcomes stay, so every counter
 * is as exact as before.
 *
 * Whoever was not sent to yet is skipped, and their place in the plan given
 * back. Whoever is being sent to at this moment is skipped as well: the channel
 * may still take it, but there is no message left to say so.
 *
 * The lines are those of handing over: the broadcast is held before anybody of
 * it who waits is touched, so nobody is chosen and erased at once.
 */

import { releaseQuota } from '../accounts/quota.ts'
import type { Sql } from '../lib/db.ts'
import { failUnsent } from '../messages/settle.ts'
import { addUp } from './counts.ts'

export const erased = 'the contact was erased'

/** With the workspace: whoever fills shares it, whoever erases has it alone. */
const eraseLock = 7_263_555

/** Until the transaction ends nobody of the workspace is erased. */
export async function holdErasing(sql: Sql, workspaceId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock_shared(${eraseLock}, hashtext(${workspaceId}))`
}

/** Until the transaction ends no segment of the workspace becomes recipients. */
export async function holdFilling(sql: Sql, workspaceId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(${eraseLock}, hashtext(${workspaceId}))`
}

/** Hold the broadcasts in which somebody with one of these messages is under way. */
export async function holdSenders(sql: Sql, workspaceId: string, messageIds: readonly string[]): Promise<void> {
  await sql`
    select b.id from broadcasts b
    where b.workspace_id = ${workspaceId} and b.id in (
      select r.broadcast_id from broadcast_recipients r
      where r.workspace_id = ${workspaceId} and r.message_id = any(${[...messageIds]}::uuid[])
        and r.status in ('pending', 'sending')
    )
    order by b.id
    for no key update`
}

/** Erase the recipients of these messages, which are about to be deleted; their broadcasts are held. */
export async function eraseReached(sql: Sql, workspaceId: string, messageIds: readonly string[]): Promise<void> {
  const reached = await sql<{ message_id: string; status_before: string }[]>`
    with theirs as (
      select r.broadcast_id, r.place, r.message_id, r.status as status_before
      from broadcast_recipients r
      where r.workspace_id = ${workspaceId} and r.message_id = any(${[...messageIds]}::uuid[])
      order by r.broadcast_id, r.place
      for no key update
    ),
    moved as (
      update broadcast_recipients r set
        status = case when r.status in ('pending', 'sending') then 'skipped' else r.status end,
        reason = case when r.status in ('pending', 'sending') then ${erased} else r.reason end,
        contact_id = null, phone = null, identity = null, name = null, params = null, message_id = null, retry_at = null
      from theirs t
      where r.workspace_id = ${workspaceId} and r.broadcast_id = t.broadcast_id and r.place = t.place
      returning r.workspace_id, r.broadcast_id, t.message_id, t.status_before, r.status as status_after
    ),
    added_up as (${addUp(sql, sql`moved`)})
    select message_id, status_before from moved`
  // Put back by the channel and not sent: their places in the plan are free.
  const held = reached.filter(({ status_before }) => status_before === 'pending').map(({ message_id }) => message_id)
  if (held.length > 0) await failUnsent(sql, workspaceId, held, erased, { emits: false })
}

/** Erase them where they were never sent to: who waits is skipped, who was skipped has no name any more. */
export async function eraseUnreached(sql: Sql, workspaceId: string, contactId: string): Promise<void> {
  const names = await sql<{ external_id: string }[]>`
    select external_id from contact_identities
    where workspace_id = ${workspaceId} and contact_id = ${contactId} and channel = 'msgapp'`
  const held = new Set<string>()
  let unreached: Place[] = []
  // Until all that they are in are held: whoever was handed over meanwhile has a message, and others may have come.
  for (;;) {
    unreached = await listUnreached(
      sql,
      workspaceId,
      contactId,
      names.map(({ external_id }) => external_id),
    )
    const ids = [...new Set(unreached.map(({ broadcast_id }) => broadcast_id))].filter((id) => !held.has(id))
    if (ids.length === 0) break
    await sql`
      select id from broadcasts
      where workspace_id = ${workspaceId} and id = any(${ids}::uuid[]) and completed_at is null
      order by id
      for no key update`
    for (const id of ids) held.add(id)
  }
  const passed = await sql<{ broadcast_id: string; count: number }[]>`
    with theirs as (
      select r.broadcast_id, r.place, r.status as status_before
      from json_to_recordset(${JSON.stringify(unreached)}::text::json) as t (broadcast_id uuid, place int)
      join broadcast_recipients r
        on r.workspace_id = ${workspaceId} and r.broadcast_id = t.broadcast_id and r.place = t.place
      order by r.broadcast_id, r.place
      for no key update of r
    ),
    moved as (
      update broadcast_recipients r set
        status = case when r.status = 'pending' then 'skipped' else r.status end,
        reason = case when r.status = 'pending' then ${erased} else r.reason end,
        contact_id = null, phone = null, identity = null, name = null, params = null
      from theirs t
      where r.workspace_id = ${workspaceId} and r.broadcast_id = t.broadcast_id and r.place = t.place
      returning r.workspace_id, r.broadcast_id, t.status_before, r.status as status_after
    ),
    added_up as (${addUp(sql, sql`moved`)})
    select broadcast_id, count(*)::int as count from moved where status_before = 'pending' group by broadcast_id`
  for (const { broadcast_id, count } of passed) {
    // One that is only scheduled, or canceled, has no places in a plan.
    const [reserved] = await sql<{ plan_month: string }[]>`
      update broadcasts set reserved_count = reserved_count - ${count}
      where workspace_id = ${workspaceId} and id = ${broadcast_id} and status = 'sending' and plan_month is not null
      returning plan_month::text`
    if (reserved) await releaseQuota(sql, workspaceId, reserved.plan_month, count)
  }
}

type Place = { broadcast_id: string; place: number }

/** Where they are recipients without a message: two looks, each by an index of its own. */
async function listUnreached(
  sql: Sql,
  workspaceId: string,
  contactId: string,
  names: readonly string[],
): Promise<Place[]> {
  return sql<Place[]>`
    select r.broadcast_id, r.place from broadcast_recipients r
    where r.workspace_id = ${workspaceId} and r.message_id is null and r.contact_id is not null
      and r.contact_id = ${contactId}
    union
    select r.broadcast_id, r.place from broadcast_recipients r
    where r.workspace_id = ${workspaceId} and r.message_id is null and r.identity is not null
      and r.identity = any(${[...names]}::text[])`
}
