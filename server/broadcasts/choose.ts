/**
 * Chooses the next recipients of a number's broadcasts, round robin, and decides for each what to send or why to skip it.
 */
import type { Channel, Connection, Template, TemplateParams } from '../channels/channel.ts'
import { identityOfPhone } from '../contacts/phone.ts'
import { userIdOf, withScope } from '../contacts/scope.ts'
import type { Sql } from '../lib/postgres/db.ts'
import { type MessageContent, toTemplateContent } from '../messages/sending/template.ts'
import { expandValues, hasFields, tooLongReason, type ValuedContact } from '../messages/sending/values.ts'
import { optedOutReason } from './broadcasts.ts'
import { senderOf } from './pace.ts'
import { needsPhoneReason, noPhoneReason } from './reach.ts'

/** The most broadcasts in a batch. */
const maxBroadcasts = 8

export type ActiveBroadcast = {
  id: string
  /** As it is stored now; null when it was deleted. */
  template: Template | null
  template_name: string
  template_language: string
  params: TemplateParams
  contact_fields: boolean
  position: number
  filled_count: number
  plan_month: string
}

export type ChosenRecipient = {
  broadcast_id: string
  place: number
  is_retry: boolean
  message_id: string | null
  attempt_count: number
  given_phone: string | null
  given_name: string | null
  given_params: TemplateParams | null
  /** Of a contact without a number: the user id, as it is stored, by which the sending account knows the contact. */
  user_id: string | null
  /** A contact with this number exists. */
  is_known: boolean
  opted_out: boolean
} & ValuedContact

/** Locks the broadcasts that have recipients to hand over, least recently served first (lock order: ARCHITECTURE.md). */
export async function lockActiveBroadcasts(
  sql: Sql,
  { workspace_id: workspaceId, id, scope }: Connection,
): Promise<ActiveBroadcast[]> {
  return sql<ActiveBroadcast[]>`
    select b.id, b.template_name, b.template_language, b.params, b.contact_fields, b.position, b.filled_count,
      b.plan_month::text, (
        select row_to_json(stored) from (
          select t.external_id, b.template_name as name, t.language, t.status, t.category, t.parameter_format, t.components
          from templates t
          where t.workspace_id = b.workspace_id and t.name = ${withScope(scope, '')} || b.template_name
            and t.language = b.template_language
        ) stored
      ) as template
    from broadcasts b
    where b.workspace_id = ${workspaceId} and b.completed_at is null and b.status = 'sending' and not b.is_paused
      and b.started_at is not null and ${senderOf(sql)} = ${id} and ${hasWork(sql)}
    order by b.served_at nulls first, b.id
    limit ${maxBroadcasts}
    for no key update of b`
}

/** Condition: broadcast `b` has recipients without an attempt, or some whose retry is due. */
export const hasWork = (sql: Sql) => sql`(b.position < b.filled_count or exists (
  select from broadcast_recipients r
  where r.workspace_id = b.workspace_id and r.broadcast_id = b.id and r.retry_at <= now()
))`

const recipientColumns = (sql: Sql) => sql`
  r.broadcast_id, r.place, r.contact_id, r.identity, r.phone, r.name, r.params, r.message_id, r.attempt_count`

/** Returns up to `maxCount` recipients, retries first, and the position that each broadcast reaches with them. */
export async function chooseRecipients(
  sql: Sql,
  { workspace_id: workspaceId, scope }: Pick<Connection, 'workspace_id' | 'scope'>,
  broadcasts: readonly ActiveBroadcast[],
  maxCount: number,
): Promise<{ chosen: ChosenRecipient[]; ends: Map<string, number> }> {
  const found = await sql<(ChosenRecipient & { identity: string | null })[]>`
    select r.broadcast_id, r.place, r.is_retry, r.message_id, r.attempt_count, r.phone as given_phone,
      r.name as given_name, r.params as given_params, coalesce(r.name, c.name) as name, c.phone as phone, r.identity,
      c.user_id, c.email, c.company, c.attributes, c.id is not null as is_known, c.opted_out_at is not null as opted_out
    from unnest(${broadcasts.map(({ id }) => id)}::uuid[], ${broadcasts.map(({ position }) => position)}::int[])
      as b (id, position)
    cross join lateral (
      (
        select ${recipientColumns(sql)}, true as is_retry from broadcast_recipients r
        where r.workspace_id = ${workspaceId} and r.broadcast_id = b.id and r.retry_at <= now() and r.status = 'pending'
        order by r.retry_at
        limit ${maxCount}
      )
      union all
      (
        select ${recipientColumns(sql)}, false as is_retry from broadcast_recipients r
        where r.workspace_id = ${workspaceId} and r.broadcast_id = b.id and r.place > b.position and r.status = 'pending'
        order by r.place
        limit ${maxCount}
      )
    ) r
    -- One row at a time: a generic plan does not know the limit and would hash all contacts.
    left join lateral (
      select c.id, c.name, c.phone, c.email, c.company, c.attributes, c.opted_out_at,
        case when c.phone is null then ${userIdOf(sql, scope)} end as user_id
      from contacts c
      where c.workspace_id = ${workspaceId} and c.id = coalesce(r.contact_id, (
        select i.contact_id from contact_identities i
        where i.workspace_id = ${workspaceId} and i.channel = 'msgapp' and i.external_id = r.identity
      ))
      limit 1
    ) c on true
    order by r.is_retry desc, r.place`
  // A merged contact has several numbers. A recipient that was named by one of them is sent to that one.
  const rows = found.map(({ identity, ...row }) => {
    const isOther = identity !== null && row.phone !== null && identityOfPhone(row.phone) !== identity
    return { ...row, phone: isOther ? row.given_phone : (row.phone ?? row.given_phone) }
  })
  const queues = broadcasts.map(({ id }) => rows.filter(({ broadcast_id }) => broadcast_id === id))
  const chosen: ChosenRecipient[] = []
  for (let round = 0; chosen.length < maxCount && queues.some((queue) => round < queue.length); round++) {
    for (const queue of queues) {
      const next = queue[round]
      if (next && chosen.length < maxCount) chosen.push(next)
    }
  }
  const ends = new Map<string, number>()
  broadcasts.forEach(({ id, position, filled_count }, i) => {
    const firstAttempts = (queues[i] ?? []).filter(({ is_retry }) => !is_retry)
    const last = chosen.findLast(({ broadcast_id, is_retry }) => broadcast_id === id && !is_retry)
    const isComplete = firstAttempts.length < maxCount && firstAttempts.at(-1) === last
    ends.set(id, isComplete ? filled_count : (last?.place ?? position))
  })
  return { chosen, ends }
}

type Judgement = { message: MessageContent | undefined; reason: string | null }
export type JudgedRecipient = ChosenRecipient & Judgement

/** Adds the message to send, or the reason why the recipient is skipped. */
export function judgeRecipients(
  channel: Channel,
  broadcasts: readonly ActiveBroadcast[],
  chosen: readonly ChosenRecipient[],
): JudgedRecipient[] {
  const judges = new Map(broadcasts.map((broadcast) => [broadcast.id, createJudge(channel, broadcast)]))
  return chosen.flatMap((one) => {
    const judge = judges.get(one.broadcast_id)
    return judge ? [{ ...one, ...judge(one) }] : []
  })
}

export const missingFieldReason = (field: string): string => `the contact has no ${field}`

/** Returns a function that fills the template for a recipient, or gives the reason why it cannot. Shared values are filled once. */
export function createJudge(
  channel: Channel,
  { template, params, contact_fields }: Pick<ActiveBroadcast, 'template' | 'params' | 'contact_fields'>,
): (one: ValuedContact & Pick<ChosenRecipient, 'user_id' | 'given_params' | 'opted_out'>) => Judgement {
  const skip = (reason: string): Judgement => ({ message: undefined, reason })
  const fill = (values: TemplateParams): Judgement => {
    const filled = template && channel.fillTemplate?.(template, values)
    if (!template || !filled) return skip('the channel has no templates')
    return filled.ok ? { message: toTemplateContent(template, filled), reason: null } : skip(filled.message)
  }
  const needsPhone = (template && channel.needsPhone?.(template)) ?? false
  const isShared = !contact_fields || !hasFields(params)
  let shared: Judgement | undefined
  return (one) => {
    if (one.phone === null && one.user_id === null) return skip(noPhoneReason)
    if (one.phone === null && needsPhone) return skip(needsPhoneReason)
    if (one.opted_out) return skip(optedOutReason)
    if (isShared && !one.given_params) {
      shared ??= fill(params)
      return shared
    }
    const values = one.given_params ?? params
    if (!contact_fields) return fill(values)
    const expanded = expandValues(values, one)
    if (expanded.ok) return fill(expanded.params)
    return skip(expanded.missing ? missingFieldReason(expanded.missing) : tooLongReason)
  }
}
