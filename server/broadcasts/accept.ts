/**
 * Accepts a broadcast: checks everything that can be checked now, then writes the broadcast and its recipients.
 *
 * An error in one recipient skips that recipient, with a reason. An error that concerns all recipients refuses the request.
 */

import { requireQuota } from '../accounts/quota.ts'
import type { Channel, Connection, Template, TemplateParams } from '../channels/channel.ts'
import { requireMsgapp, type SenderRef } from '../channels/connections.ts'
import { identityOfPhone, parsePhone } from '../contacts/phone.ts'
import type { Sealer } from '../lib/crypto.ts'
import { badRequest, notFound } from '../lib/errors.ts'
import type { FairQueue } from '../lib/fair-queue.ts'
import { isUuid, newId, timeOfId } from '../lib/id.ts'
import { type Db, type Sql, withRetries } from '../lib/postgres/db.ts'
import type { SlowReads } from '../lib/postgres/slow-reads.ts'
import { lengthOf, textOrNull } from '../lib/text.ts'
import { parseTime } from '../lib/time.ts'
import { markUploadsUsed, tokensIn } from '../media/uploads.ts'
import type { RequestedTemplate } from '../messages/sending/requested-content.ts'
import { requireFilled, requireTemplate, type TemplateName } from '../messages/sending/template.ts'
import { completeContact, expandValues, findValueFault } from '../messages/sending/values.ts'
import type { FilterFields } from '../segments/filter.ts'
import { type Audience, audienceOf, requireAudience, toColumns } from './audience.ts'
import { getBroadcast, requireBroadcast, start } from './broadcasts.ts'
import { addCounts } from './counts.ts'
import { countMembersOf } from './fill.ts'
import { requireCapacity } from './limits.ts'
import { reachOf } from './reach.ts'
import type { Broadcast } from './resource.ts'

export type RecipientInput = { to: string; name: string | undefined; params: TemplateParams | undefined }

export type NewBroadcast = {
  name: string
  template: RequestedTemplate
  /** The number that sends it; absent: the default one. */
  from?: string | undefined
  recipients: readonly RecipientInput[] | undefined
  segment_id: string | undefined
  /** Instead of `segment_id`. */
  audience?: Audience | undefined
  scheduled_at: string | undefined
  /** It is not started, and recipients can be added (`drafts.ts`). */
  draft?: boolean | undefined
}

export type AcceptContext = {
  db: Db
  slow: SlowReads
  bulk: FairQueue
  sealer: Sealer
  channel: Channel
  fields: FilterFields
  publicUrl: string
}

export type Caller = {
  workspaceId: string
  defaultCountry: string
  /** The id reserved by the `Idempotency-Key`. A request repeated after a crash has the same id. */
  subject: { id: string; isRepeat: boolean } | undefined
  /** The member who calls; undefined for a key. */
  memberId?: string | undefined
}

export type Recipient = {
  place: number
  phone: string
  identity: string | null
  name: string | null
  params: TemplateParams | null
  reason: string | null
}

export type CheckedBroadcast = { recipient_count: number; skipped_count: number }

/** Refuses what `acceptBroadcast` would refuse. Changes nothing. */
export async function checkBroadcast(
  context: AcceptContext,
  caller: Caller,
  input: NewBroadcast,
): Promise<CheckedBroadcast> {
  requireName(input.name)
  const at = requireRules(input)
  const { count } = await requireAcceptable(context, caller, input, at)
  const { total, usable } = await count()
  await requireQuota(context.db, caller.workspaceId, { at, count: () => usable })
  return { recipient_count: usable, skipped_count: total - usable }
}

/** `draftId`: the draft that the member wrote it in, which ends. So of two members who send the same draft one succeeds. */
export async function acceptBroadcast(
  context: AcceptContext,
  caller: Caller,
  input: NewBroadcast,
  { draftId }: { draftId?: string } = {},
): Promise<Broadcast> {
  const { db, bulk, publicUrl } = context
  const { workspaceId, subject } = caller
  const name = requireName(input.name)
  const scheduledAt = requireRules(input)
  const { draft: isDraft = false } = input
  const isList = audienceOf(input) === undefined
  const existing = subject?.isRepeat ? await getBroadcast(db, workspaceId, subject.id) : undefined
  if (existing) return existing

  const { isDue, connection, rows, count } = await requireAcceptable(context, caller, input, scheduledAt)
  // A list that starts now reserves its quota below, and a draft when it starts. For the others the quota is only checked.
  if (!isDraft && (!isDue || !isList)) {
    await requireQuota(db, workspaceId, { at: scheduledAt, count: async () => (await count()).usable })
  }
  const id = subject?.id ?? newId()
  const insert = async (sql: Sql) => {
    if (draftId !== undefined) await endDraft(sql, workspaceId, draftId)
    const { memberId: authorId = null } = caller
    const connectionId = connection.id
    await insertBroadcast(sql, workspaceId, {
      ...input,
      id,
      name,
      connectionId,
      scheduledAt,
      count: rows.length,
      authorId,
    })
    await writeAudience(sql, workspaceId, id, input, rows, publicUrl)
    if (!isDraft && isDue) await start(sql, workspaceId, id, { is_filled: isList })
  }
  await bulk(workspaceId, () => withRetries(() => db.begin(insert)))
  return requireBroadcast(db, workspaceId, id)
}

/** Deletes the draft of a member that a new broadcast replaces. 404 when it was sent or deleted meanwhile. */
async function endDraft(sql: Sql, workspaceId: string, id: string): Promise<void> {
  const [deleted] = isUuid(id)
    ? await sql`
        delete from broadcasts
        where workspace_id = ${workspaceId} and id = ${id} and status = 'draft' and saved_at is not null
        returning id`
    : []
  if (!deleted) throw notFound('draft')
}

/**
 * The checks against the database: schedule, connection, template with its values, audience. `members`: the condition on its
 * contacts. `count` counts the recipients as far as they are known now.
 */
export async function requireAcceptable(
  context: AcceptContext,
  { workspaceId, defaultCountry }: Pick<Caller, 'workspaceId' | 'defaultCountry'>,
  input: NewBroadcast,
  scheduledAt: string | null,
) {
  const { db, slow, channel, fields } = context
  const isDue = await requireSchedule(db, scheduledAt)
  const read = readRecipients(input.recipients ?? [], defaultCountry)
  const sender = input.from === undefined ? undefined : { from: input.from, defaultCountry }
  const { connection, template, rows } = await checkTemplate(context, workspaceId, input, read, sender)
  const reach = reachOf(channel, connection, template)
  const audience = audienceOf(input)
  const members = audience && (await requireAudience(db, workspaceId, fields, audience)).condition
  const count = async () =>
    members
      ? slow(workspaceId, (sql) => countMembersOf(sql, workspaceId, members, reach))
      : { total: rows.length, usable: rows.filter(({ reason }) => reason === null).length }
  return { isDue, connection, template, rows, reach, members, count }
}

export const maxNameLength = 80

export function requireName(input: string): string {
  const name = input.trim()
  if (name === '') throw badRequest('name: must not be blank')
  if (lengthOf(name) > maxNameLength) throw badRequest(`name: must have at most ${maxNameLength} characters`)
  return name
}

/** Checks the rules between the fields. Returns the time of the start; null means now. */
export function requireRules(input: NewBroadcast): string | null {
  const { recipients, segment_id: segmentId, audience } = input
  if (recipients && segmentId !== undefined) throw badRequest('segment_id: must not be combined with recipients')
  if (audience && (recipients || segmentId !== undefined)) {
    throw badRequest('audience: must not be combined with recipients or segment_id')
  }
  if (!recipients && !audienceOf(input) && !input.draft) {
    throw badRequest('recipients: required, unless there is a segment_id')
  }
  const scheduledAt = readSchedule(input.scheduled_at)
  requireFields(input)
  return scheduledAt
}

function readSchedule(text: string | undefined): string | null {
  if (text === undefined) return null
  const time = parseTime(text)
  if (time === undefined) throw badRequest('scheduled_at: must be a date-time such as 2026-01-31T09:30:00Z')
  return new Date(time).toISOString()
}

/** A start in the last minutes means now: the caller's clock may be slow, or the request was delayed. */
const maxPastMinutes = 5

/** Throws 400 when the start is too long ago by the database's clock. Otherwise returns whether it is due; null is due. */
async function requireSchedule(sql: Sql, scheduledAt: string | null): Promise<boolean> {
  if (scheduledAt === null) return true
  const [start] = await sql<{ is_due: boolean; is_past: boolean }[]>`
    select ${scheduledAt}::timestamptz <= now() as is_due,
      ${scheduledAt}::timestamptz < now() - make_interval(mins => ${maxPastMinutes}) as is_past`
  if (start?.is_past) throw badRequest(`scheduled_at: must not be more than ${maxPastMinutes} minutes in the past`)
  return start?.is_due ?? false
}

function requireFields({ template, recipients = [] }: NewBroadcast): void {
  if (!template.contact_fields) return
  const fault =
    findValueFault(template.params, 'template.params') ??
    recipients.map(({ params }, i) => params && findValueFault(params, `recipients[${i}].params`)).find(Boolean)
  if (fault) throw badRequest(fault)
}

/** Returns the first recipient of each number. An invalid number is kept as text, for display, with a reason. */
export function readRecipients(
  input: readonly RecipientInput[],
  defaultCountry: string,
): (Recipient & { index: number })[] {
  const seen = new Set<string>()
  return input.flatMap(({ to, name, params }, index) => {
    const phone = parsePhone(to, defaultCountry)
    const identity = phone ? identityOfPhone(phone) : null
    const key = identity ?? `no number: ${to.trim()}`
    if (seen.has(key)) return []
    seen.add(key)
    const reason = phone ? null : 'not a phone number'
    const recipient = { identity, name: textOrNull(name), params: params ?? null, reason }
    return [{ ...recipient, place: seen.size, phone: phone ?? to, index }]
  })
}

/** Returns a function that fills the template with values. With `hasFields` it does so as if the contact had all fields. */
export const createFill = (channel: Channel, template: Template, hasFields: boolean) => (values: TemplateParams) => {
  const expanded = hasFields ? expandValues(values, completeContact) : undefined
  return channel.fillTemplate?.(template, expanded?.ok ? expanded.params : values)
}

/** The connection, and the approved template of a broadcast. */
export async function requireApproved(
  { db, sealer, channel }: AcceptContext,
  workspaceId: string,
  template: TemplateName,
  isUsable: (template: Template) => boolean = () => true,
  sender?: SenderRef,
): Promise<{ connection: Connection; template: Template }> {
  const connection = await requireMsgapp(db, sealer, workspaceId, sender)
  return { connection, template: await requireTemplate(db, channel, connection, template, isUsable) }
}

/** The number of a broadcast, to check its template again. */
export const senderRefOf = ({ connection_id }: Pick<Broadcast, 'connection_id'>): SenderRef | undefined =>
  connection_id === null ? undefined : { from: connection_id, defaultCountry: '' }

/** Skips recipients whose values do not fit the template. Throws 400 with the first error when no recipient is left. */
async function checkTemplate(
  context: AcceptContext,
  workspaceId: string,
  input: NewBroadcast,
  rows: (Recipient & { index: number })[],
  sender: SenderRef | undefined,
): Promise<{ connection: Connection; template: Template; rows: Recipient[] }> {
  const { channel } = context
  const { template: requested, recipients } = input
  const isList = audienceOf(input) === undefined
  const { params, contact_fields: hasFields } = requested
  const values = [...(isList ? [] : [params]), ...rows.map((row) => row.params ?? params)]
  const isUsable = (candidate: Template) => {
    const fill = createFill(channel, candidate, hasFields)
    return [...new Set(values)].every((each) => fill(each)?.ok)
  }
  const { connection, template } = await requireApproved(context, workspaceId, requested, isUsable, sender)
  const fill = createFill(channel, template, hasFields)
  const shared = fill(params)
  // Without values of their own, all recipients have the same error. The recipients of a draft may get theirs later.
  const isShared = !isList || (recipients && !rows.some((row) => row.params))
  if (isShared || (shared && !shared.ok && shared.fault === 'template')) {
    requireFilled(requested, shared)
  }
  const checked = rows.map(({ index, ...row }) => {
    if (row.reason !== null) return { ...row, fault: `recipients[${index}].to: ${row.reason}` }
    const filled = row.params ? fill(row.params) : shared
    if (!filled || filled.ok) return { ...row, fault: undefined }
    const fault = row.params ? filled.message.replace(/^template\./, `recipients[${index}].`) : filled.message
    return { ...row, reason: filled.message, fault }
  })
  const [first] = checked
  if (first?.fault !== undefined && checked.every(({ fault }) => fault !== undefined)) {
    throw badRequest(checked.length > 1 ? `${first.fault}; no recipient is usable` : first.fault)
  }
  return { connection, template, rows: checked.map(({ fault: _, ...row }) => row) }
}

/** Writes a draft, or a broadcast that is scheduled until `start`. */
export async function insertBroadcast(
  sql: Sql,
  workspaceId: string,
  input: Pick<NewBroadcast, 'name' | 'template' | 'segment_id' | 'audience' | 'draft'> & {
    id: string
    /** Null: the default number when it starts. */
    connectionId: string | null
    scheduledAt: string | null
    count: number
    authorId?: string | null
  },
): Promise<void> {
  const { id, template } = input
  const { segment_id, audience } = toColumns(input)
  await sql`
    insert into broadcasts (workspace_id, id, name, status, connection_id, template_name, template_language, params, contact_fields,
      segment_id, audience, author_id, total_count, filled_count, is_filled, created_at, scheduled_at)
    values (${workspaceId}, ${id}, ${input.name}, ${input.draft ? 'draft' : 'scheduled'}, ${input.connectionId}, ${template.name},
      ${template.language}, ${JSON.stringify(template.params)}::text::jsonb, ${template.contact_fields},
      ${segment_id}, ${audience && JSON.stringify(audience)}::text::jsonb, ${input.authorId ?? null}, ${input.count}, ${input.count},
      ${segment_id === null && audience === null}, ${timeOfId(id)}, ${input.scheduledAt})`
}

/** Writes the recipients of a broadcast that has none. The uploaded files that its values link to are kept. */
export async function writeAudience(
  sql: Sql,
  workspaceId: string,
  id: string,
  { template, recipients = [], draft: isDraft = false }: Pick<NewBroadcast, 'template' | 'recipients' | 'draft'>,
  rows: readonly Recipient[],
  publicUrl: string,
): Promise<void> {
  const values = [template.params, ...recipients.map(({ params }) => params)]
  if (rows.length > 0) await insertRecipients(sql, workspaceId, id, rows)
  await markUploadsUsed(sql, workspaceId, tokensIn(JSON.stringify(values), publicUrl))
  if (isDraft || rows.length > 0) await requireCapacity(sql, workspaceId, { isDraft })
}

export async function insertRecipients(
  sql: Sql,
  workspaceId: string,
  id: string,
  rows: readonly Recipient[],
): Promise<void> {
  await sql`
    with inserted_recipients as (
      insert into broadcast_recipients (workspace_id, broadcast_id, place, phone, identity, name, params, status, reason)
      select ${workspaceId}, ${id}, place, phone, identity, name, params,
        case when reason is null then 'pending' else 'skipped' end, reason
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as i (
        place int, phone text, identity text, name text, params jsonb, reason text
      )
      returning workspace_id, broadcast_id, 'pending' as status_before, status as status_after
    )
    ${addCounts(sql, sql`inserted_recipients`)}`
}
