/**
 * Drafts: a broadcast whose recipients are added in batches before it starts. So more people than fit into one request can
 * have values of their own.
 *
 * Every batch and every start locks the broadcast. Two batches never write the same position or the same number twice, and of
 * a batch and a start at the same moment one comes first: the batch is sent too, or it is refused.
 */
import { requireMsgapp } from '../channels/connections.ts'
import { getTemplate } from '../channels/templates.ts'
import { type Sql, withRetries } from '../lib/db.ts'
import { badRequest, notFound } from '../lib/errors.ts'
import { isUuid } from '../lib/id.ts'
import { markUploadsUsed, tokensIn } from '../media/uploads.ts'
import { requireTemplate } from '../messages/template.ts'
import { findValueFault } from '../messages/values.ts'
import {
  type AcceptContext,
  type Caller,
  createFill,
  type Recipient,
  type RecipientInput,
  readRecipients,
} from './accept.ts'
import { type Broadcast, type LockedBroadcast, lockBroadcast, requireBroadcast, start } from './broadcasts.ts'
import { requireCapacity } from './limits.ts'

export type AddedRecipients = { added: number; skipped: { index: number; reason: string }[] }

const knownReason = 'the number is in the broadcast already'

/** Adds recipients to a draft. Those that cannot be sent to, or whose number it has already, are not added. */
export async function addRecipients(
  { db, bulk, sealer, channel, publicUrl }: AcceptContext,
  { workspaceId, defaultCountry }: Caller,
  id: string,
  recipients: readonly RecipientInput[],
): Promise<AddedRecipients> {
  const draft = await requireBroadcast(db, workspaceId, id)
  requireDraft(draft)
  const { name, language } = draft.template
  const connection = await requireMsgapp(db, sealer, workspaceId)
  const stored = await getTemplate(db, workspaceId, name, language)
  const template = await requireTemplate(db, channel, connection, draft.template, stored, () => true)
  const fill = createFill(channel, template, draft.contact_fields)
  const shared = fill(draft.params)
  const rows = readRecipients(recipients, defaultCountry).map((row) => {
    const filled = row.params ? fill(row.params) : shared
    const fault = draft.contact_fields && row.params ? findValueFault(row.params, 'params') : undefined
    const missing = filled && !filled.ok ? filled.message.replace(/^template\.(?=params\b)/, '') : null
    return { ...row, reason: row.reason ?? fault ?? missing }
  })
  const usable = rows.filter(({ reason }) => reason === null)
  const insert = async (sql: Sql) => {
    const locked = await lockBroadcast(sql, workspaceId, id)
    requireDraft(locked)
    if (usable.length === 0) return new Set<number>()
    await markUploadsUsed(sql, workspaceId, tokensIn(JSON.stringify(usable.map(({ params }) => params)), publicUrl))
    const knownIndexes = await insertNew(sql, workspaceId, id, locked, usable)
    await requireCapacity(sql, workspaceId)
    return new Set(knownIndexes)
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

/** Inserts the recipients whose number the draft does not have, in order. Returns the indexes of the others. */
async function insertNew(
  sql: Sql,
  workspaceId: string,
  id: string,
  { filled_count: filledCount }: LockedBroadcast,
  rows: readonly (Recipient & { index: number })[],
): Promise<number[]> {
  const input = rows.map(({ index, phone, identity, name, params }) => ({ index, phone, identity, name, params }))
  const known = await sql<{ index: number }[]>`
    -- The batch, and for each recipient whether the draft has its number: one index probe each.
    with input as materialized (
      select i.index, i.phone, i.identity, i.name, i.params, exists (
          select from broadcast_recipients r
          where r.workspace_id = ${workspaceId} and r.message_id is null and r.identity = i.identity
            and r.broadcast_id = ${id}
          offset 0
        ) as is_known
      from json_to_recordset(${JSON.stringify(input)}::text::json) as i (
        index int, phone text, identity text, name text, params jsonb
      )
    ),
    -- The new ones, after those that the draft has.
    inserted_recipients as (
      insert into broadcast_recipients (workspace_id, broadcast_id, place, phone, identity, name, params, status)
      select ${workspaceId}, ${id}, ${filledCount}::int + row_number() over (order by index), phone, identity, name, params,
        'pending'
      from input where not is_known
      returning place
    ),
    -- The draft with its new number of recipients. The caller has locked it.
    updated_broadcast as (
      update broadcasts b set total_count = b.total_count + n.count, filled_count = b.filled_count + n.count
      from (select count(*)::int as count from inserted_recipients) n
      where b.workspace_id = ${workspaceId} and b.id = ${id}
    )
    select index from input where is_known`
  return known.map(({ index }) => index)
}

function requireDraft(
  broadcast: Pick<Broadcast, 'status' | 'segment_id'> | undefined,
): asserts broadcast is Pick<Broadcast, 'status' | 'segment_id'> {
  if (!broadcast) throw notFound('broadcast')
  if (broadcast.status !== 'draft') {
    throw badRequest(`recipients: can be added to a draft only; the broadcast is ${broadcast.status}`)
  }
  if (broadcast.segment_id !== null) throw badRequest('recipients: the recipients of this draft come from a segment')
}

/**
 * Starts a draft, or a scheduled broadcast before its time. A draft whose `scheduled_at` is later becomes scheduled, unless
 * `isNow`. 402 when the plan refuses it; then it stays as it was.
 */
export async function startBroadcast(
  { db, sealer, channel }: AcceptContext,
  { workspaceId, subject }: Pick<Caller, 'workspaceId' | 'subject'>,
  id: string,
  { isNow = false } = {},
): Promise<void> {
  const before = await requireBroadcast(db, workspaceId, id)
  // The request that this one repeats has started it.
  if (subject?.isRepeat && before.status !== 'draft' && before.status !== 'canceled') return
  requireUnstarted(before)
  if (before.status === 'draft') {
    const connection = await requireMsgapp(db, sealer, workspaceId)
    const { name, language } = before.template
    const stored = await getTemplate(db, workspaceId, name, language)
    await requireTemplate(db, channel, connection, before.template, stored, () => true)
  }
  await withRetries(() =>
    db.begin(async (sql) => {
      const broadcast = await lockBroadcast(sql, workspaceId, id)
      requireUnstarted(broadcast)
      if (broadcast.status === 'draft') {
        requireAudience(broadcast)
        if (broadcast.is_due) return start(sql, workspaceId, id, broadcast)
        if (!isNow) {
          await sql`update broadcasts set status = 'scheduled' where workspace_id = ${workspaceId} and id = ${id}`
          return
        }
      }
      await sql`update broadcasts set scheduled_at = now() where workspace_id = ${workspaceId} and id = ${id}`
      await start(sql, workspaceId, id, broadcast)
    }),
  )
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

function requireAudience({ segment_id: segmentId, filled_count: count }: LockedBroadcast): void {
  if (segmentId === null && count === 0) throw badRequest('recipients: the draft has none')
}

function requireUnstarted<Known extends Pick<Broadcast, 'status'>>(
  broadcast: Known | undefined,
): asserts broadcast is Known {
  if (!broadcast) throw notFound('broadcast')
  if (broadcast.status !== 'draft' && broadcast.status !== 'scheduled') {
    throw badRequest(`a broadcast that is ${broadcast.status} cannot be started`)
  }
}
