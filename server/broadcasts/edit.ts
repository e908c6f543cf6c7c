/**
 * Changes a scheduled broadcast: edit, reschedule. `drafts.ts` starts it before its time.
 *
 * Every change locks the broadcast and checks that it is still scheduled. The loop that starts broadcasts does the same and
 * compares the time again. So of a change and a start at the same moment one comes first: either the broadcast starts as it
 * was and the change is refused, or the change applies and the broadcast starts by its new time. Nothing is sent twice.
 */
import { requireQuota } from '../accounts/quota.ts'
import type { TemplateParams } from '../channels/channel.ts'
import { type Sql, withRetries } from '../lib/postgres/db.ts'
import type { RequestedTemplate } from '../messages/sending/requested-content.ts'
import {
  type AcceptContext,
  type Caller,
  type NewBroadcast,
  requireAcceptable,
  requireName,
  requireRules,
  writeAudience,
} from './accept.ts'
import { type Audience, audienceOf, toColumns } from './audience.ts'
import { lockBroadcast, requireBroadcast, requireStatus, templateOf } from './broadcasts.ts'
import type { Broadcast } from './resource.ts'

export type BroadcastChanges = Partial<NewBroadcast>

/** The content of a broadcast, to edit it or to write a similar one. */
export type BroadcastSource = Pick<Broadcast, 'status'> & {
  name: string
  template: RequestedTemplate
  /** The connection id of the number. */
  from: string | null
  segment_id: string | null
  audience: Audience | null
  /** `params`: the values of the recipient instead of those of the template. */
  recipients: { to: string; name: string | null; params?: TemplateParams }[]
  has_more_recipients: boolean
  /** Some recipients have template values of their own. */
  has_own_values: boolean
  scheduled_at: string | null
}

/** A list has at most 1,000 recipients; a broadcast that was sent again may have more. */
const maxRecipients = 1_000

export async function getBroadcastSource(sql: Sql, workspaceId: string, id: string): Promise<BroadcastSource> {
  const broadcast = await requireBroadcast(sql, workspaceId, id)
  const { name, segment_id, audience, scheduled_at } = broadcast
  const rows = audienceOf(broadcast) === undefined ? await listInputs(sql, workspaceId, broadcast.id) : []
  return {
    status: broadcast.status,
    name,
    template: templateOf(broadcast),
    from: broadcast.connection_id,
    segment_id,
    audience,
    recipients: rows
      .slice(0, maxRecipients)
      .map(({ to, name = null, params }) => ({ to, name, ...(params ? { params } : {}) })),
    has_more_recipients: rows.length > maxRecipients,
    has_own_values: rows.some((row) => row.params !== undefined),
    scheduled_at,
  }
}

/** Changes the fields that are present. 400 when the broadcast is no longer scheduled. */
export async function editBroadcast(
  context: AcceptContext,
  caller: Omit<Caller, 'subject'>,
  id: string,
  changes: BroadcastChanges,
): Promise<Broadcast> {
  const { db, publicUrl } = context
  const { workspaceId } = caller
  const before = await requireBroadcast(db, workspaceId, id)
  requireStatus(before, ['scheduled'], 'changed')
  const hasAudience = changes.recipients !== undefined || audienceOf(changes) !== undefined
  const kept = audienceOf(before) === undefined ? await listInputs(db, workspaceId, id) : undefined
  const input: NewBroadcast = {
    name: requireName(changes.name ?? before.name),
    template: changes.template ?? templateOf(before),
    from: changes.from ?? before.connection_id ?? undefined,
    recipients: hasAudience ? changes.recipients : kept,
    segment_id: hasAudience ? changes.segment_id : (before.segment_id ?? undefined),
    audience: hasAudience ? changes.audience : (before.audience ?? undefined),
    scheduled_at: changes.scheduled_at ?? before.scheduled_at ?? undefined,
  }
  const scheduledAt = requireRules(input)
  const { connection, rows, count } = await requireAcceptable(context, caller, input, scheduledAt)
  await requireQuota(db, workspaceId, { at: scheduledAt, count: async () => (await count()).usable })
  await withRetries(() =>
    db.begin(async (sql) => {
      requireStatus(await lockBroadcast(sql, workspaceId, id), ['scheduled'], 'changed')
      const { name, language, params, contact_fields } = input.template
      const { segment_id, audience } = toColumns(input)
      // A broadcast that missed its time was paused by the service: a new time resumes it.
      await sql`
        update broadcasts set name = ${input.name}, connection_id = ${connection.id}, template_name = ${name}, template_language = ${language},
          params = ${JSON.stringify(params)}::text::jsonb, contact_fields = ${contact_fields},
          segment_id = ${segment_id}, audience = ${audience && JSON.stringify(audience)}::text::jsonb,
          total_count = ${rows.length}, filled_count = ${rows.length}, is_filled = ${segment_id === null && audience === null},
          scheduled_at = ${scheduledAt}, is_paused = is_paused and pause_reason is null, pause_reason = null
        where workspace_id = ${workspaceId} and id = ${id}`
      await sql`delete from broadcast_recipients where workspace_id = ${workspaceId} and broadcast_id = ${id}`
      await sql`delete from broadcast_counts where workspace_id = ${workspaceId} and broadcast_id = ${id}`
      await writeAudience(sql, workspaceId, id, input, rows, publicUrl)
    }),
  )
  return requireBroadcast(db, workspaceId, id)
}

/** The recipients as the caller gave them, without erased ones. */
export async function listInputs(sql: Sql, workspaceId: string, id: string) {
  const rows = await sql<{ to: string; name: string | null; params: TemplateParams | null }[]>`
    select phone as to, name, params from broadcast_recipients
    where workspace_id = ${workspaceId} and broadcast_id = ${id} and phone is not null
    order by place
    limit ${maxRecipients + 1}`
  return rows.map(({ to, name, params }) => ({ to, name: name ?? undefined, params: params ?? undefined }))
}
