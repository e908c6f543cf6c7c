/**
 * The audit log: which member did what in the dashboard. Owners and admins read it.
 *
 * The config of a route declares its entry, and a hook writes the entry before the response is sent. So every successful call is
 * recorded; refused calls and changes without any field are not. A test requires every route that changes something to declare
 * an entry or `false`.
 *
 * An entry names its subject and summarizes the change. It contains no secrets and no personal data of customers, so that erasing
 * a contact leaves nothing in it: for a contact it lists the changed fields, not their values.
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { badRequest } from '../lib/errors.ts'
import type { Step } from '../lib/http/apply-steps.ts'
import { idAt, isUuid, newId, timeOfId } from '../lib/id.ts'
import { type Page, type Position, toPage } from '../lib/page.ts'
import { requireRow, type Sql } from '../lib/postgres/db.ts'
import type { Session } from './callers.ts'

/** A noun and a past participle: `key.created`. */
type Action = `${string}.${string}`

type AuditRule = {
  action: Action
  /**
   * Summarizes the call from the `data` of the response and from the body. `data` still has the fields that the response schema
   * removes, so pick fields by name.
   */
  summary?(data: unknown, body: unknown, request: FastifyRequest): string | null
  /** The subject is the `id` of the path although the response has one: it is that of another object. */
  isOfPath?: true
  /** The subjects of a call that changes many. */
  subjects?(data: unknown): readonly string[]
  /** Whether to record this call. Absent: every call is recorded. */
  when?(request: FastifyRequest, statusCode: number): boolean
}

declare module 'fastify' {
  interface FastifyRequest {
    /** What the handler returned, for the audit log. */
    handlerResult: unknown
  }
  interface FastifyContextConfig {
    /**
     * The entry of a call. Its subject is that of the rule, the `id` in the response's `data`, or the `id` of the path. `false`: no entry;
     * `tests/audit.test.ts` lists the reasons.
     */
    audit?: Action | AuditRule | false
  }
}

const maxSummary = 500

/** A public route sets `request.caller` when it knows the member. */
export const recordActions = (sql: Sql): Step => ({
  fields: ['handlerResult'],
  ofRoute: ({ config: { audit } = {} }) =>
    audit
      ? {
          preSerialization: keepResult,
          onSend: record(sql, typeof audit === 'string' ? { action: audit } : audit),
        }
      : undefined,
})

/** Not called for a stream, which is recorded when it starts. */
async function keepResult(request: FastifyRequest, _reply: FastifyReply, payload: unknown): Promise<unknown> {
  request.handlerResult = payload
  return payload
}

function record(sql: Sql, { action, summary, isOfPath, subjects, when }: AuditRule) {
  return async (request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<unknown> => {
    const { statusCode } = reply
    if (statusCode < 200 || statusCode >= 300 || when?.(request, statusCode) === false) return payload
    // A replayed response was recorded the first time.
    if (reply.hasHeader('idempotent-replayed')) return payload
    if (isEmptyChange(request)) return payload
    const { body, params } = request
    const session = request.caller as Session | undefined
    if (!session) throw new Error(`${action} has no session to record`)
    const data = fieldOf(request.handlerResult, 'data')
    const subjectId = (isOfPath ? undefined : fieldOf(data, 'id')) ?? fieldOf(params, 'id')
    const text = summary?.(data, body, request)?.slice(0, maxSummary).toWellFormed()
    await writeEntry(sql, session.workspaceId, {
      member: session.member,
      action,
      subjectId: typeof subjectId === 'string' && isUuid(subjectId) ? subjectId : null,
      ...(subjects ? { subjectIds: subjects(data) } : {}),
      summary: text || null,
    })
    return payload
  }
}

type NewEntry = {
  member: { id: string; email: string }
  action: Action
  subjectId?: string | null
  subjectIds?: readonly string[]
  summary: string | null
}

/** Records an action of a member whom no session identifies, or whose response is a redirect. All others are recorded by their route. */
export async function writeEntry(
  sql: Sql,
  workspaceId: string,
  { member, action, subjectId = null, subjectIds, summary }: NewEntry,
): Promise<void> {
  const id = newId()
  await sql`
    insert into audit_log (workspace_id, id, member_id, member_email, action, subject_id, subject_ids, summary, created_at)
    values (${workspaceId}, ${id}, ${member.id}, ${member.email}, ${action}, ${subjectId},
      ${subjectIds ? [...subjectIds] : null}::uuid[], ${summary}, ${timeOfId(id)})`
}

/** A `PATCH` without any known field. */
function isEmptyChange({ method, body, routeOptions }: FastifyRequest): boolean {
  if (method !== 'PATCH') return false
  const fields = fieldOf(fieldOf(routeOptions.schema, 'body'), 'properties')
  const names = Object.keys(typeof body === 'object' && body !== null ? body : {})
  return !names.some((name) => fieldOf(fields, name) !== undefined)
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}

/** The named fields that are present, with their values: `name: Acme, events: a b`. */
export function describeFields<Fields extends object>(body: Fields, ...names: (keyof Fields & string)[]): string {
  return names
    .filter((name) => body[name] !== undefined)
    .map((name) => `${name}: ${[body[name]].flat().join(' ')}`)
    .join(', ')
}

/** The named fields that are present, without their values: `name, tags`. */
export function nameFields<Fields extends object>(body: Fields, ...names: (keyof Fields & string)[]): string {
  return names.filter((name) => body[name] !== undefined).join(', ')
}

export type AuditEntry = {
  id: string
  at: string
  action: string
  /** `name` is null if the member has none or was removed. */
  member: { id: string; email: string; name: string | null }
  subject_id: string | null
  /** Of a conversation or contact that still exists. */
  subject_name: string | null
  summary: string | null
}

/** Names the conversations and contacts among these ids. Modules that own them pass it in. */
export type NameSubjects = (
  sql: Sql,
  workspaceId: string,
  ids: readonly string[],
) => Promise<ReadonlyMap<string, string>>

/** Ids carry the time of their row, so a day is a range of ids. */
export type AuditFilter = { memberId?: string; object?: string; range?: { from: string; to: string } }

type AuditQuery = { member_id?: string | undefined; object?: string | undefined; day?: string | undefined }

/** An id that is none, or a day that is none, is refused. */
export async function readFilter(
  sql: Sql,
  workspaceId: string,
  { member_id, object, day }: AuditQuery,
): Promise<AuditFilter> {
  if (member_id !== undefined && !isUuid(member_id)) throw badRequest('member_id: must be a uuid')
  return {
    ...(member_id === undefined ? {} : { memberId: member_id }),
    ...(object === undefined ? {} : { object }),
    ...(day === undefined ? {} : { range: await readDay(sql, workspaceId, day) }),
  }
}

async function readDay(sql: Sql, workspaceId: string, day: string): Promise<{ from: string; to: string }> {
  // PostgreSQL has no year 0.
  const isDay = /^\d{4}-\d\d-\d\d$/.test(day) && day >= '0001' && isoDay(Date.parse(day)) === day
  if (!isDay) throw badRequest(`day: '${day}' is not a day such as 2026-01-31`)
  const [range] = await sql<{ from_ms: number; to_ms: number }[]>`
    select extract(epoch from ${day}::text::timestamp at time zone time_zone)::float8 * 1000 as from_ms,
      extract(epoch from (${day}::text::timestamp + interval '1 day') at time zone time_zone)::float8 * 1000 as to_ms
    from workspaces where id = ${workspaceId}`
  const { from_ms, to_ms } = requireRow(range, 'the workspace')
  return { from: idAt(from_ms), to: idAt(to_ms) }
}

const isoDay = (ms: number): string => (Number.isNaN(ms) ? '' : new Date(ms).toISOString().slice(0, 10))

/** Newest first. */
export async function listEntries(
  sql: Sql,
  workspaceId: string,
  nameSubjects: NameSubjects,
  { memberId, object, range }: AuditFilter,
  { limit, before }: Position,
): Promise<Page<AuditEntry>> {
  const end = range && range.to < before ? range.to : before
  const rows = await sql<Omit<AuditEntry, 'subject_name'>[]>`
    select a.id, a.created_at as at, a.action, a.subject_id, a.summary,
      json_build_object('id', a.member_id, 'email', a.member_email, 'name', m.name) as member
    from audit_log a
    left join members m on m.workspace_id = a.workspace_id and m.id = a.member_id
    where a.workspace_id = ${workspaceId} and a.id < ${end}
      and ${range ? sql`a.id >= ${range.from}` : sql`true`}
      and ${memberId === undefined ? sql`true` : sql`a.member_id = ${memberId}`}
      and ${object === undefined ? sql`true` : sql`rtrim(split_part(a.action, '.', 1), 's') = ${object}`}
    order by a.id desc
    limit ${limit + 1}`
  const page = toPage(rows, limit)
  const ids = page.data.flatMap(({ action, subject_id }) => (subject_id && isNamed(action) ? [subject_id] : []))
  const names = ids.length === 0 ? undefined : await nameSubjects(sql, workspaceId, ids)
  return {
    ...page,
    data: page.data.map((entry) => ({ ...entry, subject_name: names?.get(entry.subject_id ?? '') ?? null })),
  }
}

/** Whether the subject is a customer's: their names are not in the log. */
const isNamed = (action: string): boolean => /^(contact|conversation)\./.test(action)

/** More than a year, so that the same month of last year is still there. */
const keptDays = 400

export async function sweepEntries(sql: Sql): Promise<void> {
  await sql`delete from audit_log where created_at < now() - make_interval(days => ${keptDays})`
}
