/**
 * Previews a broadcast, without a write: how many recipients it would reach, how long it would run, and samples. Also
 * sends the template to one number as a test.
 *
 * A list is checked recipient by recipient, as when it is sent. For a segment the database counts the contacts that cannot be
 * reached, opted out or lack a field, so a million take no longer than a count. Other errors in values show only when the
 * template is filled; that is checked on the first 1,000, and `values_checked` has the number.
 */
import { readQuota } from '../accounts/quota.ts'
import type { TemplateParams } from '../channels/channel.ts'
import { maxAttributes } from '../contacts/attributes.ts'
import { userIdOf } from '../contacts/scope.ts'
import { type Fragment, plannedPerCall, type Sql } from '../lib/postgres/db.ts'
import type { Sender, SendRequest, SendResult } from '../messages/sending/send.ts'
import {
  attributeOf,
  expandValues,
  hasFields,
  listRequiredFields,
  type ValuedContact,
  valueFields,
} from '../messages/sending/values.ts'
import {
  type AcceptContext,
  type Caller,
  type NewBroadcast,
  type Recipient,
  requireAcceptable,
  requireRules,
} from './accept.ts'
import { optedOutReason } from './broadcasts.ts'
import { type ChosenRecipient, createJudge, missingFieldReason } from './choose.ts'
import { needsPhoneReason, noPhoneReason, type Reach, unusableCases } from './reach.ts'

export type Preview = {
  total: number
  sendable: number
  skipped: { reason: string; count: number }[]
  values_checked: number
  duration_seconds: number
  plan: { left: number | null; fits: boolean; state: 'active' | 'lapsed' }
  /** The first recipients who would get it, each with the values of their message. */
  samples: { name: string | null; to: string; params: TemplateParams }[]
}

type PreviewCaller = Pick<Caller, 'workspaceId' | 'defaultCountry'>

/** The recipients of a broadcast, as far as they are known now. */
type Audience = {
  total: number
  /** The number of quota units it would use. */
  quotaUnits: number
  skipped: Map<string, number>
  /** All have the same values. */
  isSame: boolean
  /** Those whose values are checked. */
  people: (ValuedContact &
    Pick<ChosenRecipient, 'user_id' | 'given_params' | 'opted_out'> & { username: string | null })[]
}

export async function previewBroadcast(
  context: AcceptContext,
  caller: PreviewCaller,
  input: NewBroadcast,
): Promise<Preview> {
  const { db, slow, channel } = context
  const { workspaceId } = caller
  const scheduledAt = requireRules(input)
  const { connection, template, rows, reach, members } = await requireAcceptable(context, caller, input, scheduledAt)
  const { params, contact_fields } = input.template
  const audience = members
    ? await slow(workspaceId, (sql) => checkSegment(sql, workspaceId, members, reach, input.template))
    : await checkList(db, workspaceId, rows)
  const { total, quotaUnits, skipped, people, isSame } = audience
  const judge = createJudge(channel, { template, params, contact_fields })
  const judged = people.map((person) => ({ person, to: handleOf(person), ...judge(person) }))
  const reached = judged.filter(({ message }) => message).slice(0, shownCount)
  for (const { reason } of judged) if (reason !== null) count(skipped, reason, 1)
  const sendable = total - [...skipped.values()].reduce((sum, one) => sum + one, 0)
  const { state, left } = await readQuota(db, workspaceId, scheduledAt)
  return {
    total,
    sendable,
    skipped: [...skipped].map(([reason, count]) => ({ reason, count })).sort((one, other) => other.count - one.count),
    values_checked: isSame ? Math.min(judged.length, 1) : judged.length,
    duration_seconds: Math.ceil(sendable / connection.messages_per_second),
    plan: { left, fits: state === 'active' && (left === null || quotaUnits <= left), state },
    samples: reached.map(({ person, to }) => {
      const own = person.given_params ?? params
      const expanded = contact_fields ? expandValues(own, person) : undefined
      return { name: person.name, to, params: expanded?.ok ? expanded.params : own }
    }),
  }
}

/** As members see it: the phone number, or else the username. */
const handleOf = ({ phone, username }: Audience['people'][number]): string => phone ?? (username ? `@${username}` : '')

async function checkList(sql: Sql, workspaceId: string, rows: readonly Recipient[]): Promise<Audience> {
  const skipped = new Map<string, number>()
  for (const { reason } of rows) if (reason !== null) count(skipped, reason, 1)
  const usable = rows.filter(({ reason }) => reason === null)
  const known = await findContacts(
    sql,
    workspaceId,
    usable.flatMap(({ identity }) => identity ?? []),
  )
  const people = usable.map(({ identity, phone, name, params }) => {
    const contact = known.get(identity ?? '') ?? { ...unknownContact, opted_out: false }
    const other = { user_id: null, username: null, given_params: params }
    return { ...contact, name: name ?? contact.name, phone: contact.phone ?? phone, ...other }
  })
  const quotaUnits = people.filter(({ opted_out }) => !opted_out).length
  return { total: rows.length, quotaUnits, skipped, people, isSame: false }
}

/** Recipients whose values are checked. Without fields all recipients have the same values, and one is enough. */
const sampleSize = 1_000
/** Recipients through whose messages a member can page. */
const shownCount = 20

async function checkSegment(
  sql: Sql,
  workspaceId: string,
  condition: Fragment,
  reach: Reach,
  { params, contact_fields }: NewBroadcast['template'],
): Promise<Audience> {
  const isSame = !contact_fields || !hasFields(params)
  const requiredFields = contact_fields ? listRequiredFields(params).slice(0, maxRequired) : []
  // Each number of fields is a text of its own.
  const members = requiredFields.length > 0 ? plannedPerCall(sql, condition) : condition
  const missingFields = requiredFields.reduce(
    (cases, field) => sql`${cases} when ${isBlank(sql, field)} then ${missingFieldReason(field)}`,
    sql``,
  )
  const reason = sql`case ${unusableCases(sql, reach)} ${missingFields} end`
  const counted = await sql<{ reason: string | null; count: number }[]>`
    select ${reason} as reason, count(*)::int as count
    from contacts c where c.workspace_id = ${workspaceId} and ${members}
    group by 1`
  const skipped = new Map(counted.flatMap(({ reason, count }) => (reason === null ? [] : [[reason, count] as const])))
  const total = counted.reduce((sum, { count }) => sum + count, 0)
  const sample = await sql<(ValuedContact & { user_id: string | null; username: string | null })[]>`
    select c.name, c.phone, c.email, c.company, c.attributes, c.username,
      case when c.phone is null then ${userIdOf(sql, reach.scope)} end as user_id
    from contacts c where c.workspace_id = ${workspaceId} and ${members} and ${reason} is null
    order by c.id
    limit ${isSame ? shownCount : sampleSize}`
  const unusable = [noPhoneReason, needsPhoneReason, optedOutReason].map((each) => skipped.get(each) ?? 0)
  const quotaUnits = unusable.reduce((left, count) => left - count, total)
  const people = sample.map((one) => ({ ...one, given_params: null, opted_out: false }))
  return { total, quotaUnits, skipped, people, isSame }
}

const unknownContact: ValuedContact = { name: null, phone: null, email: null, company: null }

/** A contact has at most 50 attributes, so with one more it lacks one of the first. */
const maxRequired = valueFields.length + maxAttributes + 1

/** The characters that `trim` removes, so that the database and JavaScript agree on blank texts. */
const blanks =
  '\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff'

function isBlank(sql: Sql, field: string): Fragment {
  const attribute = attributeOf(field)
  const value = attribute === undefined ? sql`c.${sql(field)}` : sql`c.attributes ->> ${attribute}::text`
  return sql`coalesce(btrim(${value}, ${blanks}), '') = ''`
}

function count(counts: Map<string, number>, reason: string, more: number): void {
  counts.set(reason, (counts.get(reason) ?? 0) + more)
}

type KnownContact = ValuedContact & { opted_out: boolean }

async function findContacts(
  sql: Sql,
  workspaceId: string,
  identities: readonly string[],
): Promise<Map<string, KnownContact>> {
  const rows = await sql<(KnownContact & { identity: string })[]>`
    select i.external_id as identity, c.name, c.phone, c.email, c.company, c.attributes, c.opted_out_at is not null as opted_out
    from contact_identities i
    join contacts c on c.workspace_id = i.workspace_id and c.id = i.contact_id
    where i.workspace_id = ${workspaceId} and i.channel = 'msgapp' and i.external_id = any(${[...identities]}::text[])`
  return new Map(rows.map(({ identity, ...contact }) => [identity, contact]))
}

/** `from`: the number that sends it. Without it that of the conversation, or else the default one. */
export type TestSend = Pick<NewBroadcast, 'template' | 'from'> & { to: string }

/** Sends the template to one number now, as an ordinary message of a member. */
export function sendTest(
  sender: Sender,
  { defaultCountry, ...caller }: PreviewCaller & Pick<SendRequest, 'memberId' | 'subject'>,
  { template, from, to }: TestSend,
): Promise<SendResult> {
  return sender.send({
    ...caller,
    to: { phone: to, defaultCountry, from },
    requested: { type: 'template', ...template },
  })
}
