/**
 * The audit log: who did what in the dashboard, for owners and admins to read.
 *
 * A route says in its config what is recorded of it, and a hook of all member
 * routes writes it before the answer leaves: answered means recorded, and what
 * was refused is not, nor a change that names nothing. A test holds every route
 * that changes something to saying so, or to saying `false`.
 *
 * An entry names what was touched and how, in a few words. It holds no secret
 * and nothing of a customer: a person who is erased is not in it, so of a
 * contact it says which fields changed and never to what.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Sql } from '../lib/db.ts'
import { isUuid, newId, timeOfId } from '../lib/id.ts'
import { type Page, type Position, toPage } from '../lib/page.ts'
import { type App, listOf } from '../lib/server.ts'

/** `key.created`: a noun and what was done to it. */
type Action = `${string}.${string}`

type Audit = {
  action: Action
  /**
   * A few words about it, made of what the handler answered as `data` (before the schema takes away what nobody is to
   * see, so name fields, never all of them) and of the body. Each has the type its schema gives it; say which.
   */
  summary?(data: unknown, body: unknown, request: FastifyRequest): string | null
  /** Whether this very call is one to record, which was answered so; absent: each is. */
  when?(request: FastifyRequest, statusCode: number): boolean
}

declare module 'fastify' {
  interface FastifyRequest {
    /** What the handler answered, for the audit log. */
    answered: unknown
  }
  interface FastifyContextConfig {
    /**
     * What is recorded when a member calls this. The subject is the `id` of what is answered, else that of the path.
     * `false`: nothing, and `tests/audit.test.ts` knows why.
     */
    audit?: Action | Audit | false
  }
}

const maxSummary = 500

/** Record the calls of every route of `app` that says so. A public route sets `request.session` once it knows who it was. */
export function recordActions(app: App, sql: Sql): void {
  app.decorateRequest('answered', undefined)
  app.addHook('onRoute', (route) => {
    const audit = route.config?.audit
    if (!audit) return
    route.preSerialization = [...listOf(route.preSerialization), keepAnswer]
    route.onSend = [...listOf(route.onSend), record(sql, typeof audit === 'string' ? { action: audit } : audit)]
  })
}

/** A stream has no answer to keep: it is recorded as it begins. */
async function keepAnswer(request: FastifyRequest, _reply: FastifyReply, payload: unknown): Promise<unknown> {
  request.answered = payload
  return payload
}

function record(sql: Sql, { action, summary, when }: Audit) {
  return async (request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<unknown> => {
    const { statusCode } = reply
    if (statusCode < 200 || statusCode >= 300 || when?.(request, statusCode) === false) return payload
    // An answer that is given once more was recorded when it was first given.
    if (reply.hasHeader('idempotent-replayed')) return payload
    if (isEmptyChange(request)) return payload
    const { session, body, params } = request
    if (!session) throw new Error(`nobody to record ${action} of`)
    const data = fieldOf(request.answered, 'data')
    const subject = fieldOf(data, 'id') ?? fieldOf(params, 'id')
    const words = summary?.(data, body, request)?.slice(0, maxSummary).toWellFormed()
    const id = newId()
    await sql`
      insert into audit_log (workspace_id, id, member_id, member_email, action, subject_id, summary, created_at)
      values (${session.workspaceId}, ${id}, ${session.member.id}, ${session.member.email}, ${action},
        ${typeof subject === 'string' && isUuid(subject) ? subject : null}, ${words || null}, ${timeOfId(id)})`
    return payload
  }
}

/** A `PATCH` without any of the fields that its route knows. */
function isEmptyChange({ method, body, routeOptions }: FastifyRequest): boolean {
  if (method !== 'PATCH') return false
  const known = fieldOf(fieldOf(routeOptions.schema, 'body'), 'properties')
  const given = Object.keys(typeof body === 'object' && body !== null ? body : {})
  return !given.some((name) => fieldOf(known, name) !== undefined)
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}

/** `name: Acme, events: a b`: those of the named fields that are there. */
export function describeFields<Fields extends object>(given: Fields, ...names: (keyof Fields & string)[]): string {
  return names
    .filter((name) => given[name] !== undefined)
    .map((name) => `${name}: ${[given[name]].flat().join(' ')}`)
    .join(', ')
}

/** `name, tags`: which of the named fields are there, and not what is in them. */
export function nameFields<Fields extends object>(given: Fields, ...names: (keyof Fields & string)[]): string {
  return names.filter((name) => given[name] !== undefined).join(', ')
}

export type Entry = {
  id: string
  at: string
  action: string
  /** The name is null when they have none, or are no member any more. */
  member: { id: string; email: string; name: string | null }
  subject_id: string | null
  summary: string | null
}

/** Newest first. */
export async function listEntries(sql: Sql, workspaceId: string, { limit, before }: Position): Promise<Page<Entry>> {
  const rows = await sql<Entry[]>`
    select a.id, a.created_at as at, a.action, a.subject_id, a.summary,
      json_build_object('id', a.member_id, 'email', a.member_email, 'name', m.name) as member
    from audit_log a
    left join members m on m.workspace_id = a.workspace_id and m.id = a.member_id
    where a.workspace_id = ${workspaceId} and a.id < ${before}
    order by a.id desc
    limit ${limit + 1}`
  return toPage(rows, limit)
}

/** A year and a month: long enough to look back at the same month of last year. */
const keptDays = 400

export async function sweepEntries(sql: Sql): Promise<void> {
  await sql`delete from audit_log where created_at < now() - make_interval(days => ${keptDays})`
}
