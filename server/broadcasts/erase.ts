/**
 * Erases a contact from broadcasts: number, name, values, and the links to the contact and the message. Positions and
 * statuses stay, so every counter stays exact.
 *
 * A recipient that is pending or in flight is skipped, and a reserved quota unit is released. The channel may still accept
 * a message in flight, but no message is left to record that.
 *
 * The lock order in ARCHITECTURE.md is that of handing over: the broadcast is locked before its pending recipients change,
 * so no recipient is chosen and erased at the same time.
 */

import { releaseQuota } from '../accounts/quota.ts'
import type { Sql } from '../lib/postgres/db.ts'
import { failUnsent } from '../messages/sending/settle.ts'
import { addCounts } from './counts.ts'

export const erasedReason = 'the contact was erased'

/** The first key of an advisory lock, with the workspace as the second. Filling shares it; erasing takes it exclusively. */
const eraseLock = 7_263_555

/** Until the transaction ends no contact of the workspace is erased. */
export async function blockErasing(sql: Sql, workspaceId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock_shared(${eraseLock}, hashtext(${workspaceId}))`
}

/** Until the transaction ends no broadcast of the workspace is filled. */
export async function blockFilling(sql: Sql, workspaceId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(${eraseLock}, hashtext(${workspaceId}))`
}

/** Locks the broadcasts that have a pending or in-flight recipient with one of these messages. */
export async function lockSendingBroadcasts(
  sql: Sql,
  workspaceId: string,
  messageIds: readonly string[],
): Promise<void> {
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

/** Erases the recipients of messages that are about to be deleted. The caller has locked their broadcasts. */
export async function eraseSentRecipients(sql: Sql, workspaceId: string, messageIds: readonly string[]): Promise<void> {
  const erased = await sql<{ message_id: string; status_before: string }[]>`
    with locked_recipients as (
      select r.broadcast_id, r.place, r.message_id, r.status as status_before
      from broadcast_recipients r
      where r.workspace_id = ${workspaceId} and r.message_id = any(${[...messageIds]}::uuid[])
      order by r.broadcast_id, r.place
      for no key update
    ),
    -- Without personal data; one that was to be sent to is skipped.
    moved_recipients as (
      update broadcast_recipients r set
        status = case when r.status in ('pending', 'sending') then 'skipped' else r.status end,
        reason = case when r.status in ('pending', 'sending') then ${erasedReason} else r.reason end,
        contact_id = null, phone = null, identity = null, name = null, params = null, message_id = null, retry_at = null
      from locked_recipients t
      where r.workspace_id = ${workspaceId} and r.broadcast_id = t.broadcast_id and r.place = t.place
      returning r.workspace_id, r.broadcast_id, t.message_id, t.status_before, r.status as status_after
    ),
    -- The counters of their broadcasts.
    updated_counts as (${addCounts(sql, sql`moved_recipients`)})
    select message_id, status_before from moved_recipients`
  // Messages that waited for a retry are not sent: their quota is released.
  const unsentIds = erased
    .filter(({ status_before }) => status_before === 'pending')
    .map(({ message_id }) => message_id)
  if (unsentIds.length > 0) await failUnsent(sql, workspaceId, unsentIds, erasedReason, { emits: false })
}

/** Erases the contact's recipients without a message. Pending ones are skipped. */
export async function eraseUnsentRecipients(sql: Sql, workspaceId: string, contactId: string): Promise<void> {
  const identities = await sql<{ external_id: string }[]>`
    select external_id from contact_identities
    where workspace_id = ${workspaceId} and contact_id = ${contactId} and channel = 'msgapp'`
  const lockedIds = new Set<string>()
  let unsent: RecipientKey[] = []
  // Repeats until all broadcasts with such a recipient are locked: before that, recipients may be added or handed over.
  for (;;) {
    unsent = await listUnsentRecipients(
      sql,
      workspaceId,
      contactId,
      identities.map(({ external_id }) => external_id),
    )
    const ids = [...new Set(unsent.map(({ broadcast_id }) => broadcast_id))].filter((id) => !lockedIds.has(id))
    if (ids.length === 0) break
    await sql`
      select id from broadcasts
      where workspace_id = ${workspaceId} and id = any(${ids}::uuid[]) and completed_at is null
      order by id
      for no key update`
    for (const id of ids) lockedIds.add(id)
  }
  const skipped = await sql<{ broadcast_id: string; count: number }[]>`
    with
    -- The recipients of the contact, in the order of their keys.
    locked_recipients as (
      select r.broadcast_id, r.place, r.status as status_before
      from json_to_recordset(${JSON.stringify(unsent)}::text::json) as t (broadcast_id uuid, place int)
      join broadcast_recipients r
        on r.workspace_id = ${workspaceId} and r.broadcast_id = t.broadcast_id and r.place = t.place
      order by r.broadcast_id, r.place
      for no key update of r
    ),
    -- Without personal data; one that was to be sent to is skipped.
    moved_recipients as (
      update broadcast_recipients r set
        status = case when r.status = 'pending' then 'skipped' else r.status end,
        reason = case when r.status = 'pending' then ${erasedReason} else r.reason end,
        contact_id = null, phone = null, identity = null, name = null, params = null
      from locked_recipients t
      where r.workspace_id = ${workspaceId} and r.broadcast_id = t.broadcast_id and r.place = t.place
      returning r.workspace_id, r.broadcast_id, t.status_before, r.status as status_after
    ),
    -- The counters of their broadcasts.
    updated_counts as (${addCounts(sql, sql`moved_recipients`)})
    select broadcast_id, count(*)::int as count from moved_recipients where status_before = 'pending' group by broadcast_id`
  await releaseSkipped(sql, workspaceId, skipped)
}

type RecipientKey = { broadcast_id: string; place: number }

/** The contact's recipients without a message: two index lookups, by contact and by identity. */
async function listUnsentRecipients(
  sql: Sql,
  workspaceId: string,
  contactId: string,
  identities: readonly string[],
): Promise<RecipientKey[]> {
  return sql<RecipientKey[]>`
    select r.broadcast_id, r.place from broadcast_recipients r
    where r.workspace_id = ${workspaceId} and r.message_id is null and r.contact_id is not null
      and r.contact_id = ${contactId}
    union
    select r.broadcast_id, r.place from broadcast_recipients r
    where r.workspace_id = ${workspaceId} and r.message_id is null and r.identity is not null
      and r.identity = any(${[...identities]}::text[])`
}

/** Releases the quota that sending broadcasts reserved for recipients who are now skipped. */
export async function releaseSkipped(
  sql: Sql,
  workspaceId: string,
  skipped: readonly { broadcast_id: string; count: number }[],
): Promise<void> {
  for (const { broadcast_id, count } of skipped) {
    // A scheduled or canceled broadcast has no reserved quota.
    const [reserved] = await sql<{ plan_month: string }[]>`
      update broadcasts set reserved_count = reserved_count - ${count}
      where workspace_id = ${workspaceId} and id = ${broadcast_id} and status = 'sending' and plan_month is not null
      returning plan_month::text`
    if (reserved) await releaseQuota(sql, workspaceId, reserved.plan_month, count)
  }
}
