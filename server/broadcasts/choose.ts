/**
 * Who is next: of a number's broadcasts in turn, each as they are now, and
 * what is sent to them or why nothing is.
 */
import type { Channel, Template, TemplateParams } from '../channels/channel.ts'
import type { Sql } from '../lib/db.ts'
import { type MessageContent, toTemplateContent } from '../messages/template.ts'
import { optedOut } from './broadcasts.ts'
import { expandValues, hasFields, type ValuedContact, type ValueField } from './values.ts'

/** Broadcasts of a number that take turns within a batch. */
const maxAtOnce = 8

export type Active = {
  id: string
  template_name: string
  template_language: string
  params: TemplateParams
  position: number
  filled_count: number
  plan_month: string
}

export type Chosen = {
  broadcast_id: string
  place: number
  is_retry: boolean
  message_id: string | null
  attempt_count: number
  given_phone: string
  given_name: string | null
  given_params: TemplateParams | null
  /** The number is a contact's already. */
  is_known: boolean
  opted_out: boolean
} & ValuedContact

/** The number's broadcasts with somebody to hand over, those first that were served longest ago. */
export async function lockActive(sql: Sql, workspaceId: string): Promise<Active[]> {
  return sql<Active[]>`
    select b.id, b.template_name, b.template_language, b.params, b.position, b.filled_count, b.plan_month::text
    from broadcasts b
    where b.workspace_id = ${workspaceId} and b.completed_at is null and b.status = 'sending' and not b.is_paused
      and b.started_at is not null and ${hasWork(sql)}
    order by b.served_at nulls first, b.id
    limit ${maxAtOnce}
    for no key update`
}

/** Broadcast `b` has recipients nobody looked at, or some whose next try is due. */
export const hasWork = (sql: Sql) => sql`(b.position < b.filled_count or exists (
  select from broadcast_recipients r
  where r.workspace_id = b.workspace_id and r.broadcast_id = b.id and r.retry_at <= now()
))`

const recipientColumns = (sql: Sql) => sql`
  r.broadcast_id, r.place, r.contact_id, r.identity, r.phone, r.name, r.params, r.message_id, r.attempt_count`

/** The next recipients of each, in turn; and how far each broadcast has got with that. */
export async function choose(
  sql: Sql,
  workspaceId: string,
  broadcasts: readonly Active[],
  most: number,
): Promise<{ chosen: Chosen[]; ends: Map<string, number> }> {
  const rows = await sql<Chosen[]>`
    select r.broadcast_id, r.place, r.is_retry, r.message_id, r.attempt_count, r.phone as given_phone,
      r.name as given_name, r.params as given_params, coalesce(r.name, c.name) as name, coalesce(c.phone, r.phone) as phone,
      c.email, c.company, c.id is not null as is_known, c.opted_out_at is not null as opted_out
    from unnest(${broadcasts.map(({ id }) => id)}::uuid[], ${broadcasts.map(({ position }) => position)}::int[])
      as b (id, position)
    cross join lateral (
      (
        select ${recipientColumns(sql)}, true as is_retry from broadcast_recipients r
        where r.workspace_id = ${workspaceId} and r.broadcast_id = b.id and r.retry_at <= now() and r.status = 'pending'
        order by r.retry_at
        limit ${most}
      )
      union all
      (
        select ${recipientColumns(sql)}, false as is_retry from broadcast_recipients r
        where r.workspace_id = ${workspaceId} and r.broadcast_id = b.id and r.place > b.position and r.status = 'pending'
        order by r.place
        limit ${most}
      )
    ) r
    -- One by one: with a lasting plan, which knows no limit, everybody's contacts would be hashed for a few.
    left join lateral (
      select c.id, c.name, c.phone, c.email, c.company, c.opted_out_at
      from contacts c
      where c.workspace_id = ${workspaceId} and c.id = coalesce(r.contact_id, (
        select i.contact_id from contact_identities i
        where i.workspace_id = ${workspaceId} and i.channel = 'msgapp' and i.external_id = r.identity
      ))
      limit 1
    ) c on true
    order by r.is_retry desc, r.place`
  const queues = broadcasts.map(({ id }) => rows.filter(({ broadcast_id }) => broadcast_id === id))
  const chosen: Chosen[] = []
  for (let turn = 0; chosen.length < most && queues.some((queue) => turn < queue.length); turn++) {
    for (const queue of queues) {
      const next = queue[turn]
      if (next && chosen.length < most) chosen.push(next)
    }
  }
  const ends = new Map<string, number>()
  broadcasts.forEach(({ id, position, filled_count }, i) => {
    const fresh = (queues[i] ?? []).filter(({ is_retry }) => !is_retry)
    const last = chosen.findLast(({ broadcast_id, is_retry }) => broadcast_id === id && !is_retry)
    const isWhole = fresh.length < most && fresh.at(-1) === last
    ends.set(id, isWhole ? filled_count : (last?.place ?? position))
  })
  return { chosen, ends }
}

export type Judged = Chosen & { message: MessageContent | undefined; reason: string | null }

/** Who is sent to, with what; and who is passed over, and why. */
export function judge(
  channel: Channel,
  broadcasts: readonly Active[],
  templates: Map<string, Template>,
  chosen: readonly Chosen[],
): Judged[] {
  const makers = new Map(broadcasts.map((broadcast) => [broadcast.id, createFiller(channel, broadcast, templates)]))
  return chosen.map((one) => {
    if (one.opted_out) return { ...one, message: undefined, reason: optedOut }
    const made = makers.get(one.broadcast_id)?.(one)
    return typeof made === 'string' || !made
      ? { ...one, message: undefined, reason: made ?? 'the channel has no templates' }
      : { ...one, message: made, reason: null }
  })
}

export const withoutField = (field: ValueField): string => `the contact has no ${field}`

/** What to send somebody, or why not, in words. Values that are the same for all are filled in once. */
function createFiller(
  channel: Channel,
  { id, template_name: name, template_language: language, params }: Active,
  templates: Map<string, Template>,
): (one: Chosen) => MessageContent | string {
  const template = templates.get(id)
  const fill = (values: TemplateParams): MessageContent | string => {
    const filled = template && channel.fillTemplate?.(template, values)
    if (!filled) return 'the channel has no templates'
    return filled.ok ? toTemplateContent({ name, language }, filled) : filled.message
  }
  const isSame = !hasFields(params)
  let same: MessageContent | string | undefined
  return (one) => {
    if (isSame && !one.given_params) {
      same ??= fill(params)
      return same
    }
    const expanded = expandValues(one.given_params ?? params, one)
    return expanded.ok ? fill(expanded.params) : withoutField(expanded.missing)
  }
}
