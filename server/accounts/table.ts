/**
 * Routes as rows.
 *
 * A module lists its routes in tables. A row says who may call it, what it takes, what it returns and which function runs. The
 * public API (`/v1`) and the dashboard (`/app/api`) are mounted from the same rows: an API key calls those with `scope`, a member
 * those with `members`. Both get the same response, without the fields that are for members only (`ForMembers`).
 */
import type { FastifyContextConfig, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { App } from '../lib/http/server.ts'
import type { Page } from '../lib/page.ts'
import { DataOf, ListOf, type Static, type TSchema, toMemberResponse, toPublic } from '../lib/schema.ts'
import type { AnyCaller, KeyCaller, Session } from './callers.ts'
import type { MemberRole } from './members.ts'

type Roles = 'public' | readonly MemberRole[]

type CallerOf<Scope, Members> = [Members] extends [never] ? KeyCaller : [Scope] extends [never] ? Session : AnyCaller

type Request<Scope, Members, Params, Query, Body> = Omit<FastifyRequest, 'caller' | 'params' | 'query' | 'body'> & {
  caller: CallerOf<Scope, Members>
  params: Params
  query: Query
  body: Body
}

type RowTypes<Scope, Members, Params extends TSchema, Query extends TSchema, Body extends TSchema> = {
  call: `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`
  /** The scope that a key needs; null: any key. Absent: not in the public API. */
  scope?: Scope
  /** The roles that may call; `public`: no session is needed. Absent: not in the dashboard. */
  members?: Members
  params?: Params
  query?: Query
  body?: Body
}

/** Of the API document. */
type Described = { operation?: string; summary?: string; description?: string; headers?: TSchema }

type Options = Omit<FastifyContextConfig, 'scope' | 'members'> &
  Pick<RouteOptions, 'bodyLimit' | 'handlerTimeout' | 'onRequest' | 'preValidation'> & {
    /** For a route that needs a parser or an error handler of its own. */
    prepare?: (app: App) => void
  }

type Returned<Data extends TSchema, Item extends TSchema> = {
  /** The schema of the response's `data`. */
  data?: Data
  /** The schema of an item of a list. */
  list?: Item
  /** The status of the response, 200 when absent. With several, the function sets it; the texts are for the document. */
  status?: number | Readonly<Record<number, string>>
}

type Result<Data extends TSchema, Item extends TSchema> = [Item] extends [never] ? Static<Data> : Page<Static<Item>>

export type Row = RowTypes<string | null, Roles, TSchema, TSchema, TSchema> &
  Described &
  Options &
  Returned<TSchema, TSchema> & {
    run(request: FastifyRequest, reply: FastifyReply): unknown
  }

/** A row with the types of its parts. */
export function row<
  const Scope extends string | null = never,
  const Members extends Roles = never,
  Params extends TSchema = TSchema,
  Query extends TSchema = TSchema,
  Body extends TSchema = TSchema,
  Data extends TSchema = TSchema,
  Item extends TSchema = never,
>(
  row: RowTypes<Scope, Members, Params, Query, Body> &
    Described &
    Options &
    Returned<Data, Item> & {
      run(
        request: Request<Scope, Members, Static<Params>, Static<Query>, Static<Body>>,
        reply: FastifyReply,
      ): Promise<Result<Data, Item>> | Result<Data, Item>
    },
): Row {
  return row as unknown as Row
}

/** The rows of a table that keys may call. `tag` groups them in the API document. */
export function mountForKeys(app: App, tag: string, rows: readonly Row[]): void {
  for (const { members: _, scope, ...row } of rows) {
    if (scope !== undefined) mount(app, row, { scope }, { tags: [tag], request: toPublic, response: toPublic })
  }
}

/** The rows of a table that members may call. */
export function mountForMembers(app: App, rows: readonly Row[]): void {
  for (const { members, scope: _, operation: _o, summary: _s, description: _d, headers: _h, ...row } of rows) {
    if (members !== undefined) mount(app, row, { members }, { request: (schema) => schema, response: toMemberResponse })
  }
}

/** What a kind of caller sees of the schemas. */
type Views = { tags?: string[]; request: View; response: View }
type View = (schema: TSchema) => TSchema

function mount(
  app: App,
  row: Omit<Row, 'scope' | 'members'>,
  access: FastifyContextConfig,
  { tags, request: toRequest, response: toResponse }: Views,
): void {
  const { call, params, query, body, data, list, status = 200, run, ...others } = row
  const { operation, summary, description, headers, ...rest } = others
  const { bodyLimit, handlerTimeout, onRequest, preValidation, prepare, ...config } = rest
  const [method = '', url = ''] = call.split(' ')
  const answer = (text?: string) => (list ? ListOf(toResponse(list)) : data && DataOf(toResponse(data), text))
  const texts = typeof status === 'number' ? { [status]: undefined } : status
  const answers = Object.entries(texts).map(([code, text]) => [code, answer(text)] as const)
  const [only, another] = Object.keys(texts).map(Number)
  const code = another === undefined ? only : undefined
  const route: RouteOptions = {
    ...{ method, url, config: { ...config, ...access } },
    ...defined({ bodyLimit, handlerTimeout, onRequest, preValidation }),
    schema: {
      ...defined({ operationId: operation, summary, description, headers, tags, params }),
      ...defined({ querystring: query && toRequest(query), body: body && toRequest(body) }),
      ...(data || list ? { response: Object.fromEntries(answers) } : {}),
    },
    handler: async (request, reply) => {
      if (code !== undefined && code !== 200) reply.code(code)
      const result = await run(request, reply)
      return list || !data ? result : { data: result }
    },
  }
  if (!prepare) return void app.route(route)
  app.register(async (own: App) => {
    prepare(own)
    own.route(route)
  })
}

const defined = <Fields extends object>(fields: Fields): Partial<Fields> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<Fields>
