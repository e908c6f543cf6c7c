/**
 * Before a broadcast: whom it would reach and for how long it would run, and
 * the template to one number to see how it looks. A preview writes nothing.
 *
 * A list is judged person by person, as when it is sent. Of a segment the
 * database counts who has no number, opted out or lacks a field, so a million
 * take no longer than counting them; what only shows once a value is put in
 * its place is tried on the first of them, and `values_checked` says on how
 * many.
 */
import type { Template, TemplateParams } from '../channels/channel.ts'
import { requireMsgapp } from '../channels/connections.ts'
import { getTemplate } from '../channels/templates.ts'
import { identityOfPhone, requirePhone } from '../contacts/phone.ts'
import { nowIso } from '../lib/clock.ts'
import { type Fragment, requireRow, type Sql } from '../lib/db.ts'
import { badRequest } from '../lib/errors.ts'
import type { Sender, SendRequest, SendResult } from '../messages/send.ts'
import { memberCondition, requireSegment } from '../segments/segments.ts'
import {
  type Accepting,
  type Caller,
  checkTemplate,
  type NewBroadcast,
  type Recipient,
  readRecipients,
  requireRules,
  requireSchedule,
} from './accept.ts'
import { optedOut } from './broadcasts.ts'
import { type Chosen, type Judged, judge, withoutField } from './choose.ts'
import { withoutNumber } from './fill.ts'
import { expandValues, faultOfValues, hasFields, type ValuedContact, type ValueField } from './values.ts'

export type Preview = {
  total: number
  sendable: number
  skipped: { reason: string; count: number }[]
  values_checked: number
  duration_seconds: number
  plan: { left: number | null; fits: boolean; state: 'active' | 'lapsed' }
  sample: { text: string; to: string } | null
}

type Asking = Pick<Caller, 'workspaceId' | 'defaultCountry'>

/** What is known of those a broadcast is for. */
type Audience = {
  total: number
  /** Whose places in the plan it would take. */
  wanted: number
  skipped: Map<string, number>
  judged: Judged[]
}

export async function previewBroadcast(
  { db, sealer, channel, fields }: Accepting,
  { workspaceId, defaultCountry }: Asking,
  given: NewBroadcast,
): Promise<Preview> {
  const scheduledAt = requireRules(given)
  await requireSchedule(db, scheduledAt)
  const connection = await requireMsgapp(db, sealer, workspaceId)
  const { name, language, params } = given.template
  const rows = await checkTemplate(
    db,
    channel,
    connection,
    given,
    readRecipients(given.recipients ?? [], defaultCountry),
  )
  const template = requireRow(await getTemplate(db, workspaceId, name, language), 'the template')
  const tryOut = (people: readonly Chosen[]) => judge(channel, [broadcastOf(given)], templatesOf(template), people)

  let audience: Audience
  if (given.segment_id === undefined) audience = await lookAtList(db, workspaceId, rows, tryOut)
  else {
    const segment = await requireSegment(db, workspaceId, given.segment_id)
    const condition = memberCondition(db, workspaceId, fields, segment)
    audience = await lookAtSegment(db, workspaceId, condition, params, tryOut)
  }
  const { total, wanted, skipped, judged } = audience
  for (const { reason } of judged) if (reason !== null) count(skipped, reason, 1)
  const sendable = total - [...skipped.values()].reduce((sum, one) => sum + one, 0)
  const first = judged.find(({ message }) => message)
  return {
    total,
    sendable,
    skipped: [...skipped].map(([reason, count]) => ({ reason, count })).sort((one, other) => other.count - one.count),
    values_checked: judged.length,
    duration_seconds: Math.ceil(sendable / connection.messages_per_second),
    plan: await readPlan(db, workspaceId, scheduledAt ?? nowIso(), wanted),
    sample: first ? { text: first.message?.row.content_text ?? '', to: first.phone ?? first.given_phone } : null,
  }
}

type TryOut = (people: readonly Chosen[]) => Judged[]

/** As the engine knows it when it hands over. */
const previewed = 'preview'
const broadcastOf = ({ template: { name, language, params } }: NewBroadcast) => ({
  id: previewed,
  template_name: name,
  template_language: language,
  params,
  position: 0,
  filled_count: 0,
  plan_month: '',
})
const templatesOf = (template: Template) => new Map([[previewed, template]])

function toChosen(
  person: ValuedContact & { phone: string },
  given: { name: string | null; params: TemplateParams | null; opted_out: boolean },
): Chosen {
  return {
    ...person,
    broadcast_id: previewed,
    place: 0,
    is_retry: false,
    message_id: null,
    attempt_count: 0,
    given_phone: person.phone,
    given_name: given.name,
    given_params: given.params,
    is_known: true,
    opted_out: given.opted_out,
  }
}

async function lookAtList(
  sql: Sql,
  workspaceId: string,
  rows: readonly Recipient[],
  tryOut: TryOut,
): Promise<Audience> {
  const skipped = new Map<string, number>()
  for (const { reason } of rows) if (reason !== null) count(skipped, reason, 1)
  const usable = rows.filter(({ reason }) => reason === null)
  const known = await findContacts(
    sql,
    workspaceId,
    usable.flatMap(({ identity }) => identity ?? []),
  )
  const people = usable.map(({ identity, phone, name, params }) => {
    const contact = known.get(identity ?? '') ?? { ...nobody, opted_out: false }
    const person = { ...contact, name: name ?? contact.name, phone: contact.phone ?? phone }
    return toChosen(person, { name, params, opted_out: contact.opted_out })
  })
  const wanted = people.filter(({ opted_out }) => !opted_out).length
  return { total: rows.length, wanted, skipped, judged: tryOut(people) }
}

/** So many are tried; without fields in its values everybody gets the same, and one is enough. */
const sampleSize = 1_000

async function lookAtSegment(
  sql: Sql,
  workspaceId: string,
  condition: Fragment,
  params: TemplateParams,
  tryOut: TryOut,
): Promise<Audience> {
  const lacking = fieldsNeeded(params).reduce(
    (cases, field) => sql`${cases} when ${isBlank(sql, field)} then ${withoutField(field)}`,
    sql``,
  )
  const reason = sql`
    case when c.phone is null then ${withoutNumber} when c.opted_out_at is not null then ${optedOut} ${lacking} end`
  const counted = await sql<{ reason: string | null; count: number }[]>`
    select ${reason} as reason, count(*)::int as count
    from contacts c where c.workspace_id = ${workspaceId} and ${condition}
    group by 1`
  const skipped = new Map(counted.flatMap(({ reason, count }) => (reason === null ? [] : [[reason, count] as const])))
  const total = counted.reduce((sum, { count }) => sum + count, 0)
  const sample = await sql<(ValuedContact & { phone: string })[]>`
    select c.name, c.phone, c.email, c.company
    from contacts c where c.workspace_id = ${workspaceId} and ${condition} and ${reason} is null
    order by c.id
    limit ${hasFields(params) ? sampleSize : 1}`
  const people = sample.map((person) => toChosen(person, { name: null, params: null, opted_out: false }))
  const wanted = total - (skipped.get(withoutNumber) ?? 0) - (skipped.get(optedOut) ?? 0)
  return { total, wanted, skipped, judged: tryOut(people) }
}

const nobody: ValuedContact = { name: null, phone: null, email: null, company: null }

/** The fields that values name without a word in their stead, in the order in which they are missed. */
function fieldsNeeded(params: TemplateParams): ValueField[] {
  const contact = { ...nobody }
  const needed: ValueField[] = []
  for (;;) {
    const expanded = expandValues(params, contact)
    if (expanded.ok) return needed
    needed.push(expanded.missing)
    contact[expanded.missing] = 'x'
  }
}

/** Everything `trim` takes away, so that both find the same texts blank. */
const blanks =
  '\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff'

const isBlank = (sql: Sql, field: ValueField): Fragment => sql`coalesce(btrim(c.${sql(field)}, ${blanks}), '') = ''`

function count(counts: Map<string, number>, reason: string, more: number): void {
  counts.set(reason, (counts.get(reason) ?? 0) + more)
}

/** What the plan has left in the month of the start, as far as is known now. */
async function readPlan(sql: Sql, workspaceId: string, startsAt: string, wanted: number): Promise<Preview['plan']> {
  const [plan] = await sql<{ state: 'active' | 'lapsed'; room: number | null }[]>`
    select w.plan_state as state, w.plan_messages_per_month - coalesce(u.message_count, 0) as room
    from workspaces w
    left join plan_usage u on u.workspace_id = w.id
      and u.month = date_trunc('month', greatest(${startsAt}::timestamptz, now()) at time zone 'utc')::date
    where w.id = ${workspaceId}`
  const { state, room } = requireRow(plan, 'the workspace')
  const left = room === null ? null : Math.max(0, room)
  return { left, fits: state === 'active' && (left === null || wanted <= left), state }
}

type KnownContact = ValuedContact & { opted_out: boolean }

async function findContacts(
  sql: Sql,
  workspaceId: string,
  identities: readonly string[],
): Promise<Map<string, KnownContact>> {
  const rows = await sql<(KnownContact & { identity: string })[]>`
    select i.external_id as identity, c.name, c.phone, c.email, c.company, c.opted_out_at is not null as opted_out
    from contact_identities i
    join contacts c on c.workspace_id = i.workspace_id and c.id = i.contact_id
    where i.workspace_id = ${workspaceId} and i.channel = 'msgapp' and i.external_id = any(${[...identities]}::text[])`
  return new Map(rows.map(({ identity, ...contact }) => [identity, contact]))
}

export type TestSend = { template: NewBroadcast['template']; to: string }

/** The template to one number, now, as an ordinary message of a member. */
export async function sendTest(
  { sql, sender }: { sql: Sql; sender: Sender },
  { workspaceId, defaultCountry, memberId, subject }: Asking & Pick<SendRequest, 'subject'> & { memberId: string },
  { template, to }: TestSend,
): Promise<SendResult> {
  const { name, language, params } = template
  const fault = faultOfValues(params, 'template.params')
  if (fault) throw badRequest(fault)
  const phone = requirePhone(to, defaultCountry, 'to')
  const identity = identityOfPhone(phone)
  const contact = (await findContacts(sql, workspaceId, [identity])).get(identity) ?? nobody
  const expanded = expandValues(params, { ...contact, phone: contact.phone ?? phone })
  if (!expanded.ok) {
    const { missing } = expanded
    throw badRequest(`to: ${withoutField(missing)}; name a word for it, as in {{contact.${missing}|there}}`)
  }
  const draft = { type: 'template', name, language, params: expanded.params } as const
  const message = { to, name: undefined, draft, replyTo: undefined, memberId, subject }
  return sender.sendToPhone({ workspaceId, defaultCountry, ...message })
}
