/**
 * Drafts: a broadcast whose recipients are added in batches before it starts. So more people than fit into one request can
 * have values of their own.
 *
 * Every batch and every start locks the broadcast. Two batches never write the same position or the same number twice, and of
 * a batch and a start at the same moment one comes first: the batch is sent too, or it is refused.
 */
import { badRequest } from '../lib/errors.ts'
import { isUuid } from '../lib/id.ts'
import { type Sql, withRetries } from '../lib/postgres/db.ts'
import { markUploadsUsed, tokensIn } from '../media/uploads.ts'
import { findValueFault } from '../messages/sending/values.ts'
import {
  type AcceptContext,
  type Caller,
  createFill,
  insertRecipients,
  type Recipient,
  type RecipientInput,
  readRecipients,
  requireApproved,
} from './accept.ts'
import { lockBroadcast, requireBroadcast, requireStatus, start } from './broadcasts.ts'
import { requireCapacity } from './limits.ts'
import type { Broadcast } from './resource.ts'

export type AddedRecipients = { added: number; skipped: { index: number; reason: string }[] }

const knownReason = 'the number is in the broadcast already'

/** Adds recipients to a draft. Those that cannot be sent to, or whose number it has already, are not added. */
export async function addRecipients(
  context: AcceptContext,
  { workspaceId, defaultCountry }: Caller,
  id: string,
  recipients: readonly RecipientInput[],
): Promise<AddedRecipients> {
  const { db, bulk, channel, publicUrl } = context
  const draft = await requireBroadcast(db, workspaceId, id)
  requireDraft(draft)
  const { template } = await requireApproved(context, workspaceId, draft.template)
  const fill = createFill(channel, template, draft.contact_fields)
  const shared = fill(draft.params)
  const rows = readRecipients(recipients, defaultCountry).map((row) => {
    const filled = row.params ? fill(row.params) : shared
    const fault = draft.contact_fields && row.params ? findValueFault(row.params, 'params') : undefined
    const missing = filled && !filled.ok ? filled.message.replace(/^template\.(?=params\b)/, '') : null
    return { ...row, reason: row.reason ?? fault ?? missing }
  })
  const usable = rows.filter(({ reason }) => reason === null)
  const insert = async (sql: Sql): Promise<Set<number>> => {
    const locked = await lockBroadcast(sql, workspaceId, id)
    requireDraft(locked)
    if (usable.length === 0) return new Set()
    await markUploadsUsed(sql, workspaceId, tokensIn(JSON.stringify(usable.map(({ params }) => params)), publicUrl))
    const known = await findKnown(sql, workspaceId, id, usable)
    const added = usable.filter(({ index }) => !known.has(index))
    await appendRecipients(sql, workspaceId, id, locked.filled_count, added)
    await requireCapacity(sql, workspaceId)
    return known
  }
  const known = await bulk(workspaceId, () => withRetries(() => db.begin(insert)))
  const reasons = new Map(rows.map(({ index, reason }) => [index, reason]))
  const skipped = recipients.flatMap((_, index) => {
    // A number that occurs twice in the batch has a row for its first occurrence only.
    const reason = !reasons.has(index) || known.has(index) ? knownReason : reasons.get(index)
    return reason ? [{ index, reason }] : []
  })
  return { added: recipients.length - skipped.length, skipped }
}

/** The indexes of the recipients whose number the draft has: one index probe each. */
async function findKnown(
  sql: Sql,
  workspaceId: string,
  id: string,
  rows: readonly (Recipient & { index: number })[],
): Promise<Set<number>> {
  const input = rows.map(({ index, identity }) => ({ index, identity }))
  const known = await sql<{ index: number }[]>`
    select i.index
    from json_to_recordset(${JSON.stringify(input)}::text::json) as i (index int, identity text)
    where exists (
      select from broadcast_recipients r
      where r.workspace_id = ${workspaceId} and r.message_id is null and r.identity = i.identity and r.broadcast_id = ${id}
      offset 0
    )`
  return new Set(known.map(({ index }) => index))
}

/** Inserts recipients after those that the draft has. The caller has locked it. */
async function appendRecipients(
  sql: Sql,
  workspaceId: string,
  id: string,
  filledCount: number,
  rows: readonly Recipient[],
): Promise<void> {
  if (rows.length === 0) return
  const placed = rows.map((row, i) => ({ ...row, place: filledCount + i + 1 }))
  await insertRecipients(sql, workspaceId, id, placed)
  await sql`
    update broadcasts set total_count = total_count + ${rows.length}, filled_count = filled_count + ${rows.length}
    where workspace_id = ${workspaceId} and id = ${id}`
}

function requireDraft({ status, segment_id }: Pick<Broadcast, 'status' | 'segment_id'>): void {
  if (status !== 'draft') throw badRequest(`recipients: can be added to a draft only; the broadcast is ${status}`)
  if (segment_id !== null) throw badRequest('recipients: the recipients of this draft come from a segment')
}

/**
 * Starts a draft, or a scheduled broadcast before its time. A draft whose `scheduled_at` is later becomes scheduled, unless
 * `isNow`. 402 when the plan refuses it; then it stays as it was.
 */
export async function startBroadcast(
  context: AcceptContext,
  { workspaceId, subject }: Pick<Caller, 'workspaceId' | 'subject'>,
  id: string,
  { isNow = false } = {},
): Promise<void> {
  const { db } = context
  const before = await requireBroadcast(db, workspaceId, id)
  // The request that this one repeats has started it.
  if (subject?.isRepeat && before.status !== 'draft' && before.status !== 'canceled') return
  requireStatus(before, ['draft', 'scheduled'], 'started')
  if (before.status === 'draft') await requireApproved(context, workspaceId, before.template)
  const begin = async (sql: Sql): Promise<void> => {
    const broadcast = await lockBroadcast(sql, workspaceId, id)
    requireStatus(broadcast, ['draft', 'scheduled'], 'started')
    if (broadcast.status === 'draft') {
      if (broadcast.segment_id === null && broadcast.filled_count === 0)
        throw badRequest('recipients: the draft has none')
      if (broadcast.is_due) return start(sql, workspaceId, id, broadcast)
      if (!isNow) {
        await sql`update broadcasts set status = 'scheduled' where workspace_id = ${workspaceId} and id = ${id}`
        return
      }
    }
    await sql`update broadcasts set scheduled_at = now() where workspace_id = ${workspaceId} and id = ${id}`
    await start(sql, workspaceId, id, broadcast)
  }
  await withRetries(() => db.begin(begin))
}

/** Deletes a draft with its recipients. Returns its name. 400 for a broadcast that is not a draft. */
export async function deleteDraft(
  { db, bulk }: Pick<AcceptContext, 'db' | 'bulk'>,
  workspaceId: string,
  id: string,
): Promise<{ id: string; name: string; deleted: true }> {
  const remove = async () => db<{ id: string; name: string }[]>`
    delete from broadcasts where workspace_id = ${workspaceId} and id = ${id} and status = 'draft' returning id, name`
  const [deleted] = isUuid(id) ? await bulk(workspaceId, remove) : []
  if (deleted) return { ...deleted, deleted: true }
  const { status } = await requireBroadcast(db, workspaceId, id)
  throw badRequest(`only a draft can be deleted; the broadcast is ${status}`)
}

/** A draft that is not started in this time was forgotten. */
const draftDays = 30
const sweepBatchSize = 10

/** Deletes drafts that were created a month ago. Returns their workspaces. */
export async function sweepDrafts(sql: Sql): Promise<string[]> {
  const workspaceIds = new Set<string>()
  for (;;) {
    const deleted = await sql<{ workspace_id: string }[]>`
      with expired_drafts as (
        select workspace_id, id from broadcasts
        where completed_at is null and status = 'draft' and created_at < now() - make_interval(days => ${draftDays})
        limit ${sweepBatchSize}
        for update skip locked
      )
      delete from broadcasts b using expired_drafts e
      where b.workspace_id = e.workspace_id and b.id = e.id
      returning b.workspace_id`
    for (const { workspace_id } of deleted) workspaceIds.add(workspace_id)
    if (deleted.length < sweepBatchSize) return [...workspaceIds]
  }
}
