/**
 * Previews a broadcast, without a write: how many recipients it would reach, how long it would run, and a sample. Also
 * sends the template to one number as a test.
 *
 * A list is checked recipient by recipient, as when it is sent. For a segment the database counts the contacts that have no
 * number, opted out or lack a field, so a million take no longer than a count. Other errors in values show only when the
 * template is filled; that is checked on the first 1,000, and `values_checked` has the number.
 */
import type { Template, TemplateParams } from '../channels/channel.ts'
import { requireMsgapp } from '../channels/connections.ts'
import { getTemplate } from '../channels/templates.ts'
import { nowIso } from '../lib/clock.ts'
import { type Fragment, requireRow, type Sql } from '../lib/db.ts'
import type { Sender, SendRequest, SendResult } from '../messages/send.ts'
import { expandValues, hasFields, type ValuedContact, type ValueField } from '../messages/values.ts'
import { memberCondition, requireSegment } from '../segments/segments.ts'
import {
  type AcceptContext,
  type Caller,
  checkTemplate,
  type NewBroadcast,
  type Recipient,
  readRecipients,
  requireRules,
  requireSchedule,
} from './accept.ts'
import { optedOutReason } from './broadcasts.ts'
import { type ChosenRecipient, type JudgedRecipient, judgeRecipients, missingFieldReason } from './choose.ts'
import { noPhoneReason } from './fill.ts'

export type Preview = {
  total: number
  sendable: number
  skipped: { reason: string; count: number }[]
  values_checked: number
  duration_seconds: number
  plan: { left: number | null; fits: boolean; state: 'active' | 'lapsed' }
  sample: { text: string; to: string } | null
}

type PreviewCaller = Pick<Caller, 'workspaceId' | 'defaultCountry'>

/** The recipients of a broadcast, as far as they are known now. */
type Audience = {
  total: number
  /** The number of quota units it would use. */
  quotaUnits: number
  skipped: Map<string, number>
  judged: JudgedRecipient[]
}

export async function previewBroadcast(
  { db, slow, sealer, channel, fields }: AcceptContext,
  { workspaceId, defaultCountry }: PreviewCaller,
  input: NewBroadcast,
): Promise<Preview> {
  const scheduledAt = requireRules(input)
  await requireSchedule(db, scheduledAt)
  const connection = await requireMsgapp(db, sealer, workspaceId)
  const { name, language } = input.template
  const rows = await checkTemplate(
    db,
    channel,
    connection,
    input,
    readRecipients(input.recipients ?? [], defaultCountry),
  )
  const template = requireRow(await getTemplate(db, workspaceId, name, language), 'the template')
  const judgePeople = (people: readonly ChosenRecipient[]) =>
    judgeRecipients(channel, [broadcastOf(input)], templatesOf(template), people)

  let audience: Audience
  if (input.segment_id === undefined) audience = await checkList(db, workspaceId, rows, judgePeople)
  else {
    const segment = await requireSegment(db, workspaceId, input.segment_id)
    const condition = memberCondition(db, workspaceId, fields, segment)
    audience = await slow(workspaceId, (sql) => checkSegment(sql, workspaceId, condition, input.template, judgePeople))
  }
  const { total, quotaUnits, skipped, judged } = audience
  for (const { reason } of judged) if (reason !== null) count(skipped, reason, 1)
  const sendable = total - [...skipped.values()].reduce((sum, one) => sum + one, 0)
  const first = judged.find(({ message }) => message)
  return {
    total,
    sendable,
    skipped: [...skipped].map(([reason, count]) => ({ reason, count })).sort((one, other) => other.count - one.count),
    values_checked: judged.length,
    duration_seconds: Math.ceil(sendable / connection.messages_per_second),
    plan: await readPlan(db, workspaceId, scheduledAt ?? nowIso(), quotaUnits),
    sample: first ? { text: first.message?.row.content_text ?? '', to: first.phone ?? first.given_phone } : null,
  }
}

type JudgePeople = (people: readonly ChosenRecipient[]) => JudgedRecipient[]

/** The id of the broadcast that does not exist yet. */
const previewId = 'preview'
const broadcastOf = ({ template: { name, language, params, contact_fields } }: NewBroadcast) => ({
  id: previewId,
  template_name: name,
  template_language: language,
  params,
  contact_fields,
  position: 0,
  filled_count: 0,
  plan_month: '',
})
const templatesOf = (template: Template) => new Map([[previewId, template]])

function toChosenRecipient(
  person: ValuedContact & { phone: string },
  input: { name: string | null; params: TemplateParams | null; opted_out: boolean },
): ChosenRecipient {
  return {
    ...person,
    broadcast_id: previewId,
    place: 0,
    is_retry: false,
    message_id: null,
    attempt_count: 0,
    given_phone: person.phone,
    given_name: input.name,
    given_params: input.params,
    is_known: true,
    opted_out: input.opted_out,
  }
}

async function checkList(
  sql: Sql,
  workspaceId: string,
  rows: readonly Recipient[],
  judgePeople: JudgePeople,
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
    const contact = known.get(identity ?? '') ?? { ...unknownContact, opted_out: false }
    const person = { ...contact, name: name ?? contact.name, phone: contact.phone ?? phone }
    return toChosenRecipient(person, { name, params, opted_out: contact.opted_out })
  })
  const quotaUnits = people.filter(({ opted_out }) => !opted_out).length
  return { total: rows.length, quotaUnits, skipped, judged: judgePeople(people) }
}

/** Recipients whose values are checked. Without fields all recipients have the same values, and one is enough. */
const sampleSize = 1_000

async function checkSegment(
  sql: Sql,
  workspaceId: string,
  condition: Fragment,
  { params, contact_fields }: NewBroadcast['template'],
  judgePeople: JudgePeople,
): Promise<Audience> {
  const requiredFields = contact_fields ? listRequiredFields(params) : []
  const missingFields = requiredFields.reduce(
    (cases, field) => sql`${cases} when ${isBlank(sql, field)} then ${missingFieldReason(field)}`,
    sql``,
  )
  const reason = sql`
    case when c.phone is null then ${noPhoneReason} when c.opted_out_at is not null then ${optedOutReason} ${missingFields} end`
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
    limit ${contact_fields && hasFields(params) ? sampleSize : 1}`
  const people = sample.map((person) => toChosenRecipient(person, { name: null, params: null, opted_out: false }))
  const quotaUnits = total - (skipped.get(noPhoneReason) ?? 0) - (skipped.get(optedOutReason) ?? 0)
  return { total, quotaUnits, skipped, judged: judgePeople(people) }
}

const unknownContact: ValuedContact = { name: null, phone: null, email: null, company: null }

/** The fields without a fallback, in the order in which `expandValues` reports them. */
function listRequiredFields(params: TemplateParams): ValueField[] {
  const contact = { ...unknownContact }
  const needed: ValueField[] = []
  for (;;) {
    const expanded = expandValues(params, contact)
    if (expanded.ok || !expanded.missing) return needed
    needed.push(expanded.missing)
    contact[expanded.missing] = 'x'
  }
}

/** The characters that `trim` removes, so that the database and JavaScript agree on blank texts. */
const blanks =
  '\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff'

const isBlank = (sql: Sql, field: ValueField): Fragment => sql`coalesce(btrim(c.${sql(field)}, ${blanks}), '') = ''`

function count(counts: Map<string, number>, reason: string, more: number): void {
  counts.set(reason, (counts.get(reason) ?? 0) + more)
}

/** The quota that is left in the month of the start, as far as is known now. */
async function readPlan(sql: Sql, workspaceId: string, startsAt: string, quotaUnits: number): Promise<Preview['plan']> {
  const [plan] = await sql<{ state: 'active' | 'lapsed'; units_left: number | null }[]>`
    select w.plan_state as state, w.plan_messages_per_month - coalesce(u.message_count, 0) as units_left
    from workspaces w
    left join plan_usage u on u.workspace_id = w.id
      and u.month = date_trunc('month', greatest(${startsAt}::timestamptz, now()) at time zone 'utc')::date
    where w.id = ${workspaceId}`
  const { state, units_left } = requireRow(plan, 'the workspace')
  const left = units_left === null ? null : Math.max(0, units_left)
  return { left, fits: state === 'active' && (left === null || quotaUnits <= left), state }
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

/** Sends the template to one number now, as an ordinary message of a member. */
export async function sendTest(
  sender: Sender,
  {
    workspaceId,
    defaultCountry,
    memberId,
    subject,
  }: PreviewCaller & Pick<SendRequest, 'subject'> & { memberId: string },
  { template, to }: TestSend,
): Promise<SendResult> {
  const draft = { type: 'template', ...template } as const
  const message = { to, name: undefined, draft, replyTo: undefined, memberId, subject }
  return sender.sendToPhone({ workspaceId, defaultCountry, ...message })
}
