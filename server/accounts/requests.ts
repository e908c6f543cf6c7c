/**
 * Reading the request log, newest request first.
 *
 * No filter has an index. A page reads the log in steps, each twice as long as the one before, until it is full. It ends after
 * `budgetMs` even if it is not; its cursor continues the search.
 */
import { notFound } from '../lib/errors.ts'
import { isUuid, timeOfId } from '../lib/id.ts'
import { bottom, encodeCursor, type Page, type Position, toPage } from '../lib/page.ts'
import type { Fragment, Sql } from '../lib/postgres/db.ts'

export type RequestFilter = {
  key_id?: string | undefined
  /** `succeeded`, `failed` or an exact status. */
  status?: string | undefined
  /** A part of the path. */
  path?: string | undefined
  request_id?: string | undefined
}

export type LoggedRequest = {
  id: string
  at: string
  /** Null if the key no longer exists. */
  key: { id: string; name: string; prefix: string } | null
  method: string
  path: string
  /** Null if the client closed the connection before the response. */
  status: number | null
  duration_ms: number
  request_id: string
  error: { code: string; message: string } | null
}

const firstStep = 1_000

/** A page may have fewer requests than `limit`, or none, and still have a next one. */
export async function listRequests(
  sql: Sql,
  workspaceId: string,
  filter: RequestFilter,
  position: Position,
  budgetMs = 500,
): Promise<Page<LoggedRequest>> {
  const { limit } = position
  let { before } = position
  const deadline = performance.now() + budgetMs
  const found: LoggedRequest[] = []
  for (let step = firstStep; ; step *= 2) {
    const [last] = await sql<{ id: string }[]>`
      select id from api_requests
      where workspace_id = ${workspaceId} and id < ${before}
      order by id desc
      offset ${step - 1} limit 1`
    const rows = await sql<LoggedRequest[]>`
      select ${requestColumns(sql)}
      from api_requests r left join api_keys k on k.workspace_id = r.workspace_id and k.id = r.key_id
      where r.workspace_id = ${workspaceId} and r.id < ${before} and r.id >= ${last?.id ?? bottom}
        and ${isMatch(sql, filter)}
      order by r.id desc
      limit ${limit + 1 - found.length}`
    found.push(...rows.map(withTime))
    if (found.length > limit || !last) return toPage(found, limit)
    if (performance.now() > deadline) return { data: found, meta: { next_cursor: encodeCursor(last.id) } }
    before = last.id
  }
}

type Header = { name: string; value: string }

/** With the body of a failed write, and the response of a failed request. */
type WholeRequest = LoggedRequest & {
  body: string | null
  /** Null if the request succeeded or the client closed the connection. */
  response: { headers: Header[]; body: string | null } | null
}

type WholeRow = LoggedRequest & { body: string | null; response_headers: string | null; response_body: string | null }

export async function requireRequest(sql: Sql, workspaceId: string, id: string): Promise<WholeRequest> {
  const [request] = isUuid(id)
    ? await sql<WholeRow[]>`
        select ${requestColumns(sql)}, r.body, r.response_headers, r.response_body
        from api_requests r left join api_keys k on k.workspace_id = r.workspace_id and k.id = r.key_id
        where r.workspace_id = ${workspaceId} and r.id = ${id}`
    : []
  if (!request) throw notFound('request')
  const { response_headers, response_body, ...rest } = request
  const response = response_headers === null ? null : { headers: readHeaders(response_headers), body: response_body }
  return { ...withTime(rest), response }
}

const readHeaders = (lines: string): Header[] =>
  lines.split('\n').flatMap((line) => {
    const [, name, value] = /^([^:]+): (.*)$/s.exec(line) ?? []
    return name === undefined || value === undefined ? [] : [{ name, value }]
  })

/** The fields of request `r` with key `k`, without `at`. */
const requestColumns = (sql: Sql): Fragment => sql`
  r.id, r.method, r.path, r.status, r.duration_ms, r.request_id,
  case when k.id is not null then json_build_object('id', k.id, 'name', k.name, 'prefix', k.prefix) end as key,
  case when r.error_code is not null then json_build_object('code', r.error_code, 'message', r.error_message) end as error`

const withTime = <Row extends LoggedRequest>(row: Row): Row => ({ ...row, at: timeOfId(row.id) })

/** Condition on request `r`. */
function isMatch(sql: Sql, { key_id, status, path, request_id }: RequestFilter): Fragment {
  const conditions: Fragment[] = [sql`true`]
  if (key_id) conditions.push(sql`r.key_id = ${key_id}`)
  if (status === 'succeeded') conditions.push(sql`r.status < 400`)
  else if (status === 'failed') conditions.push(sql`(r.status is null or r.status >= 400)`)
  else if (status) conditions.push(sql`r.status = ${Number(status)}`)
  if (path) conditions.push(sql`strpos(r.path, ${path}) > 0`)
  if (request_id) conditions.push(sql`r.request_id = ${request_id}`)
  return conditions.reduce((one, other) => sql`${one} and ${other}`)
}
