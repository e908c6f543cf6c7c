/**
 * A broadcast is accepted: everything that can be refused is refused now,
 * before anything is written. What is wrong with one recipient skips that one,
 * with a reason; what is wrong with all of them is the caller's to mend.
 */

import { requireQuotaFor } from '../accounts/quota.ts'
import type { Channel, Connection, Template, TemplateParams } from '../channels/channel.ts'
import { requireMsgapp } from '../channels/connections.ts'
import { getTemplate } from '../channels/templates.ts'
import { identityOfPhone, parsePhone } from '../contacts/phone.ts'
import { nowMs } from '../lib/clock.ts'
import type { Sealer } from '../lib/crypto.ts'
import { type Db, type Sql, withRetries } from '../lib/db.ts'
import { badRequest } from '../lib/errors.ts'
import { newId, timeOfId } from '../lib/id.ts'
import { lengthOf } from '../lib/text.ts'
import { parseTime } from '../lib/time.ts'
import { markUploadsUsed, tokensIn } from '../media/uploads.ts'
import { requireFilled, requireTemplate } from '../messages/template.ts'
import type { FilterFields } from '../segments/filter.ts'
import { memberCondition, requireSegment } from '../segments/segments.ts'
import { type Broadcast, beginSending, getBroadcast, requireBroadcast } from './broadcasts.ts'
import { addUp } from './counts.ts'
import { countMembersOf } from './fill.ts'
import { anybody, expandValues, faultOfValues } from './values.ts'

export type GivenRecipient = { to: string; name: string | undefined; params: TemplateParams | undefined }

export type NewBroadcast = {
  name: string
  template: { name: string; language: string; params: TemplateParams }
  recipients: readonly GivenRecipient[] | undefined
  segment_id: string | undefined
  scheduled_at: string | undefined
}

export type Accepting = { db: Db; sealer: Sealer; channel: Channel; fields: FilterFields; publicUrl: string }

export type Caller = {
  workspaceId: string
  defaultCountry: string
  /** An id made for this request before; whoever repeats it after a crash comes with the same one. */
  subject: { id: string; isRepeat: boolean } | undefined
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
  accepting: Accepting,
  caller: Caller,
  input: NewBroadcast,
): Promise<CheckedBroadcast> {
  requireName(input.name)
  const { startsAt, count } = await requireAcceptable(accepting, caller, input, requireRules(input))
  const { total, usable } = await count()
  await requireQuotaFor(accepting.db, caller.workspaceId, startsAt, async () => usable)
  return { recipient_count: usable, skipped_count: total - usable }
}

export async function acceptBroadcast(accepting: Accepting, caller: Caller, given: NewBroadcast): Promise<Broadcast> {
  const { db, publicUrl } = accepting
  const { workspaceId, subject } = caller
  const name = requireName(given.name)
  const scheduledAt = requireRules(given)
  const { recipients, segment_id: segmentId } = given
  const known = subject?.isRepeat ? await getBroadcast(db, workspaceId, subject.id) : undefined
  if (known) return known

  const { isDue, startsAt, rows, count } = await requireAcceptable(accepting, caller, given, scheduledAt)
  // A list that starts now reserves its quota below. For the others the quota is only checked.
  if (!isDue || segmentId !== undefined) {
    await requireQuotaFor(db, workspaceId, startsAt, async () => (await count()).usable)
  }
  const id = subject?.id ?? newId()
  const values = [given.template.params, ...(recipients ?? []).map(({ params }) => params)]
  await withRetries(() =>
    db.begin(async (sql) => {
      const status = isDue && segmentId !== undefined ? 'sending' : 'scheduled'
      await insertBroadcast(sql, workspaceId, { ...given, id, name, status, scheduledAt, count: rows.length })
      if (rows.length > 0) await insertRecipients(sql, workspaceId, id, rows)
      await markUploadsUsed(sql, workspaceId, tokensIn(JSON.stringify(values), publicUrl))
      if (isDue && segmentId === undefined) await beginSending(sql, workspaceId, id)
    }),
  )
  return requireBroadcast(db, workspaceId, id)
}

/** The checks against what is stored: schedule, connection, template and its values, segment. */
async function requireAcceptable(
  { db, sealer, channel, fields }: Accepting,
  { workspaceId, defaultCountry }: Caller,
  input: NewBroadcast,
  scheduledAt: string | null,
) {
  const { recipients, segment_id: segmentId } = input
  const isDue = await requireSchedule(db, scheduledAt)
  const startsAt = new Date(isDue || !scheduledAt ? nowMs() : scheduledAt)
  const connection = await requireMsgapp(db, sealer, workspaceId)
  const rows = await checkTemplate(db, channel, connection, input, readRecipients(recipients ?? [], defaultCountry))
  let count = async () => ({ total: rows.length, usable: rows.filter(({ reason }) => reason === null).length })
  if (segmentId !== undefined) {
    const segment = await requireSegment(db, workspaceId, segmentId)
    count = () => countMembersOf(db, workspaceId, memberCondition(db, workspaceId, fields, segment))
  }
  return { isDue, startsAt, rows, count }
}

export function requireName(given: string): string {
  const name = given.trim()
  if (name === '') throw badRequest('name: must not be blank')
  if (lengthOf(name) > 80) throw badRequest('name: must have at most 80 characters')
  return name
}

/** The rules between the fields; answers when it is to start, null: now. */
export function requireRules(given: NewBroadcast): string | null {
  const { recipients, segment_id: segmentId } = given
  if (recipients && segmentId !== undefined) throw badRequest('segment_id: not together with recipients')
  if (!recipients && segmentId === undefined) throw badRequest('recipients: required, or segment_id')
  const scheduledAt = readSchedule(given.scheduled_at)
  requireFields(given)
  return scheduledAt
}

function readSchedule(text: string | undefined): string | null {
  if (text === undefined) return null
  const time = parseTime(text)
  if (time === undefined) throw badRequest('scheduled_at: must be a date-time such as 2026-01-31T09:30:00Z')
  return new Date(time).toISOString()
}

/** A start this long ago still means now: the caller's clock may be behind, and the request may have been on its way. */
const maxPastMinutes = 5

/** 400 when the start is too long ago by the database's clock; otherwise whether it is due. A null start is due. */
export async function requireSchedule(sql: Sql, scheduledAt: string | null): Promise<boolean> {
  if (scheduledAt === null) return true
  const [start] = await sql<{ is_due: boolean; is_past: boolean }[]>`
    select ${scheduledAt}::timestamptz <= now() as is_due,
      ${scheduledAt}::timestamptz < now() - make_interval(mins => ${maxPastMinutes}) as is_past`
  if (start?.is_past) throw badRequest(`scheduled_at: must not be more than ${maxPastMinutes} minutes in the past`)
  return start?.is_due ?? false
}

function requireFields({ template, recipients = [] }: NewBroadcast): void {
  const fault =
    faultOfValues(template.params, 'template.params') ??
    recipients.map(({ params }, i) => params && faultOfValues(params, `recipients[${i}].params`)).find(Boolean)
  if (fault) throw badRequest(fault)
}

/** Everybody once, the first of each number; what is no number is kept as it was given, to be shown. */
export function readRecipients(
  given: readonly GivenRecipient[],
  defaultCountry: string,
): (Recipient & { index: number })[] {
  const known = new Set<string>()
  return given.flatMap(({ to, name, params }, index) => {
    const phone = parsePhone(to, defaultCountry)
    const identity = phone ? identityOfPhone(phone) : null
    const key = identity ?? `no number: ${to.trim()}`
    if (known.has(key)) return []
    known.add(key)
    const reason = phone ? null : 'not a phone number'
    const recipient = { identity, name: name?.trim() ? name : null, params: params ?? null, reason }
    return [{ ...recipient, place: known.size, phone: phone ?? to, index }]
  })
}

/** Whose values the template cannot be filled with is skipped; 400 when nobody is left, with what is wrong for the first. */
export async function checkTemplate(
  sql: Sql,
  channel: Channel,
  connection: Connection,
  { template: wanted, recipients }: NewBroadcast,
  rows: (Recipient & { index: number })[],
): Promise<Recipient[]> {
  const { name, language, params } = wanted
  const fill = (template: Template, values: TemplateParams) => {
    const expanded = expandValues(values, anybody)
    return channel.fillTemplate?.(template, expanded.ok ? expanded.params : values)
  }
  const stored = await getTemplate(sql, connection.workspace_id, name, language)
  const values = [...(recipients ? [] : [params]), ...rows.map((row) => row.params ?? params)]
  const template = await requireTemplate(sql, channel, connection, wanted, stored, (one) =>
    [...new Set(values)].every((each) => fill(one, each)?.ok),
  )
  const common = fill(template, params)
  // Without values of somebody's own there is only one thing that can be wrong.
  if (!rows.some((row) => row.params) || (common && !common.ok && common.fault === 'template')) {
    requireFilled(wanted, common)
  }
  const checked = rows.map(({ index, ...row }) => {
    if (row.reason !== null) return { ...row, fault: `recipients[${index}].to: ${row.reason}` }
    const filled = row.params ? fill(template, row.params) : common
    if (!filled || filled.ok) return { ...row, fault: undefined }
    const fault = row.params ? filled.message.replace(/^template\./, `recipients[${index}].`) : filled.message
    return { ...row, reason: filled.message, fault }
  })
  const [first] = checked
  if (first?.fault !== undefined && checked.every(({ fault }) => fault !== undefined)) {
    throw badRequest(checked.length > 1 ? `${first.fault}; no recipient is usable` : first.fault)
  }
  return checked.map(({ fault: _, ...row }) => row)
}

async function insertBroadcast(
  sql: Sql,
  workspaceId: string,
  given: {
    id: string
    name: string
    status: 'scheduled' | 'sending'
    template: NewBroadcast['template']
    segment_id: string | undefined
    scheduledAt: string | null
    count: number
  },
): Promise<void> {
  const { id, template, segment_id: segmentId = null } = given
  await sql`
    insert into broadcasts (workspace_id, id, name, status, template_name, template_language, params, segment_id,
      total_count, filled_count, is_filled, created_at, scheduled_at)
    values (${workspaceId}, ${id}, ${given.name}, ${given.status}, ${template.name}, ${template.language},
      ${JSON.stringify(template.params)}::text::jsonb, ${segmentId}, ${given.count}, ${given.count},
      ${segmentId === null}, ${timeOfId(id)}, ${given.scheduledAt})`
}

async function insertRecipients(sql: Sql, workspaceId: string, id: string, rows: readonly Recipient[]): Promise<void> {
  await sql`
    with added as (
      insert into broadcast_recipients (workspace_id, broadcast_id, place, phone, identity, name, params, status, reason)
      select ${workspaceId}, ${id}, place, phone, identity, name, params,
        case when reason is null then 'pending' else 'skipped' end, reason
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as g (
        place int, phone text, identity text, name text, params jsonb, reason text
      )
      returning workspace_id, broadcast_id, 'pending' as status_before, status as status_after
    )
    ${addUp(sql, sql`added`)}`
}
