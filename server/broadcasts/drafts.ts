/**
 * Drafts: a broadcast whose recipients are added in batches before it starts. So more people than fit into one request can
 * have values of their own. A member's draft is saved while it is written, as far as it is written, and checked when it is sent.
 *
 * Every batch and every start locks the broadcast. Two batches never write the same position or the same number twice, and of
 * a batch and a start at the same moment one comes first: the batch is sent too, or it is refused.
 */
import { badRequest } from '../lib/errors.ts'
import { isUuid, newId } from '../lib/id.ts'
import { type Sql, withRetries } from '../lib/postgres/db.ts'
import { markUploadsUsed, tokensIn } from '../media/uploads.ts'
import type { RequestedTemplate } from '../messages/sending/requested-content.ts'
import { findValueFault } from '../messages/sending/values.ts'
import {
  type AcceptContext,
  type Caller,
  createFill,
  insertBroadcast,
  insertRecipients,
  type Recipient,
  type RecipientInput,
  readRecipients,
  requireAcceptable,
  requireApproved,
  requireName,
  requireRules,
  senderRefOf,
  writeAudience,
} from './accept.ts'
import { type Audience, toColumns } from './audience.ts'
import { getBroadcast, lockBroadcast, requireBroadcast, requireStatus, start, templateOf } from './broadcasts.ts'
import { listInputs } from './edit.ts'
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
  const { template } = await requireApproved(context, workspaceId, draft.template, undefined, senderRefOf(draft))
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

function requireDraft({ status, is_filled }: Pick<Broadcast, 'status' | 'is_filled'>): void {
  if (status !== 'draft') throw badRequest(`recipients: can be added to a draft only; the broadcast is ${status}`)
  if (!is_filled) throw badRequest('recipients: the recipients of this draft come from a segment')
}

/**
 * Starts a draft, or a scheduled broadcast before its time. A draft whose `scheduled_at` is later becomes scheduled, unless
 * `isNow`. 402 when the plan refuses it; then it stays as it was.
 */
export async function startBroadcast(
  context: AcceptContext,
  caller: Omit<Caller, 'memberId'>,
  id: string,
  { isNow = false } = {},
): Promise<void> {
  const { db } = context
  const { workspaceId, subject } = caller
  const before = await requireBroadcast(db, workspaceId, id)
  // The request that this one repeats has started it.
  if (subject?.isRepeat && before.status !== 'draft' && before.status !== 'canceled') return
  requireStatus(before, ['draft', 'scheduled'], 'started')
  if (before.status === 'draft') await requireStartable(context, caller, before)
  const begin = async (sql: Sql): Promise<void> => {
    const broadcast = await lockBroadcast(sql, workspaceId, id)
    requireStatus(broadcast, ['draft', 'scheduled'], 'started')
    if (broadcast.status === 'draft') {
      // What was checked above is not what would be sent.
      if (broadcast.saved_at !== before.saved_at)
        throw badRequest('a member changed the draft meanwhile; start it again')
      if (broadcast.is_filled && broadcast.filled_count === 0) throw badRequest('recipients: the draft has none')
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

/** The recipients of a caller's draft were checked when they were added. A member's draft was saved without checks. */
async function requireStartable(
  context: AcceptContext,
  caller: Pick<Caller, 'workspaceId' | 'defaultCountry'>,
  draft: Broadcast,
): Promise<void> {
  if (draft.saved_at === null) {
    await requireApproved(context, caller.workspaceId, draft.template, undefined, senderRefOf(draft))
    return
  }
  const recipients = draft.is_filled ? await listInputs(context.db, caller.workspaceId, draft.id) : undefined
  const input = {
    name: requireName(draft.name),
    template: templateOf(draft),
    from: draft.connection_id ?? undefined,
    recipients: recipients?.length ? recipients : undefined,
    segment_id: draft.segment_id ?? undefined,
    audience: draft.audience ?? undefined,
    scheduled_at: undefined,
  }
  await requireAcceptable(context, caller, input, requireRules(input))
}

/** What a member has written so far. The fields that are present are saved. */
export type DraftContent = {
  name?: string | undefined
  template?: RequestedTemplate | undefined
  /** The connection id of the number; null: the default one. */
  from?: string | null | undefined
  /** Ignored if there is an audience. Lines that are no phone number are kept. */
  recipients?: readonly RecipientInput[] | undefined
  audience?: Audience | undefined
  scheduled_at?: string | null | undefined
}

const noTemplate: RequestedTemplate = { name: '', language: '', params: {}, contact_fields: true }

/** Creates a draft of a member. A repeated request finds the draft that it created. */
export async function createDraft(context: AcceptContext, caller: Caller, content: DraftContent): Promise<Broadcast> {
  const { db, bulk } = context
  const { workspaceId, subject, memberId: authorId = null } = caller
  const id = subject?.id ?? newId()
  const isKnown = subject?.isRepeat && (await getBroadcast(db, workspaceId, id)) !== undefined
  const insert = async (sql: Sql) => {
    const blank = {
      id,
      name: '',
      template: noTemplate,
      segment_id: undefined,
      draft: true,
      connectionId: null,
      scheduledAt: null,
      count: 0,
    }
    await insertBroadcast(sql, workspaceId, { ...blank, authorId })
    await writeContent(context, caller, sql, id, content)
  }
  if (!isKnown) await bulk(workspaceId, () => withRetries(() => db.begin(insert)))
  return requireBroadcast(db, workspaceId, id)
}

/**
 * Saves what a member has written. The last one who saves a field wins. 400 for a broadcast that is no draft any more, and for the
 * draft of an integration, whose recipients come through the API.
 */
export async function saveDraft(
  context: AcceptContext,
  caller: Caller,
  id: string,
  content: DraftContent,
): Promise<Broadcast> {
  const { db, bulk } = context
  const { workspaceId } = caller
  const save = async (sql: Sql) => {
    const draft = await lockBroadcast(sql, workspaceId, id)
    requireStatus(draft, ['draft'], 'saved')
    if (draft.saved_at === null) throw badRequest('the draft of an integration cannot be saved')
    await writeContent(context, caller, sql, id, content)
  }
  await bulk(workspaceId, () => withRetries(() => db.begin(save)))
  return requireBroadcast(db, workspaceId, id)
}

/** The caller has locked the draft. */
async function writeContent(
  { publicUrl }: AcceptContext,
  { workspaceId, defaultCountry }: Caller,
  sql: Sql,
  id: string,
  { name, template, from, recipients, audience, scheduled_at }: DraftContent,
): Promise<void> {
  await sql`
    update broadcasts set saved_at = now(), name = coalesce(${name?.trim() ?? null}, name),
      connection_id = case when ${from === undefined} then connection_id else ${from ?? null}::uuid end,
      scheduled_at = case when ${scheduled_at === undefined} then scheduled_at else ${scheduled_at ?? null}::timestamptz end
    where workspace_id = ${workspaceId} and id = ${id}`
  if (template) {
    await sql`
      update broadcasts set template_name = ${template.name}, template_language = ${template.language},
        params = ${JSON.stringify(template.params)}::text::jsonb, contact_fields = ${template.contact_fields}
      where workspace_id = ${workspaceId} and id = ${id}`
  }
  const rows = readRecipients((!audience && recipients) || [], defaultCountry)
  if (recipients || audience) {
    const columns = toColumns({ audience })
    await sql`delete from broadcast_recipients where workspace_id = ${workspaceId} and broadcast_id = ${id}`
    await sql`delete from broadcast_counts where workspace_id = ${workspaceId} and broadcast_id = ${id}`
    await sql`
      update broadcasts set segment_id = ${columns.segment_id},
        audience = ${columns.audience && JSON.stringify(columns.audience)}::text::jsonb, is_filled = ${!audience},
        total_count = ${rows.length}, filled_count = ${rows.length}
      where workspace_id = ${workspaceId} and id = ${id}`
  }
  const written = { template: template ?? noTemplate, recipients, draft: true }
  await writeAudience(sql, workspaceId, id, written, rows, publicUrl)
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

/** Deletes drafts that were created, or by a member saved, a month ago. Returns their workspaces. */
export async function sweepDrafts(sql: Sql): Promise<string[]> {
  const workspaceIds = new Set<string>()
  for (;;) {
    const deleted = await sql<{ workspace_id: string }[]>`
      with expired_drafts as (
        select workspace_id, id from broadcasts
        where completed_at is null and status = 'draft'
          and coalesce(saved_at, created_at) < now() - make_interval(days => ${draftDays})
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
