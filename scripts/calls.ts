/**
 * `npm run calls`: write `dashboard/src/lib/calls.ts`, what the dashboard may
 * ask of the service, read off the service's own routes.
 *
 * The schema a route checks requests and writes answers with is the one source;
 * a test keeps the file true. Routes are looked at, none is called, so nothing
 * here needs a database.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RouteOptions } from 'fastify'
import { pino } from 'pino'
import { createApp, createChannels } from '../server/app.ts'
import { createSealer } from '../server/lib/crypto.ts'
import { connect } from '../server/lib/db.ts'
import { createHttp } from '../server/lib/http.ts'
import { createMetrics } from '../server/lib/metrics.ts'
import { createFolderStore } from '../server/lib/store.ts'
import { createGuard } from '../server/webhooks/guard.ts'

export const callsFile = join(import.meta.dirname, '../dashboard/src/lib/calls.ts')

type Schema = {
  type?: string | readonly string[]
  title?: string
  enum?: readonly unknown[]
  const?: unknown
  anyOf?: readonly Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  required?: readonly string[]
  additionalProperties?: boolean | Schema
}

export async function describeCalls(): Promise<string> {
  const named = new Map<string, string>()
  const calls = (await listRoutes())
    .filter(({ method }) => method !== 'HEAD')
    .map((route) => describeCall(route, named))
    .sort()
  return [
    '/** What the dashboard may ask of the service. Written by `npm run calls`, read off its routes; a test keeps it true. */',
    ...[...named].sort().map(([name, type]) => `export type ${name} = ${type}\n`),
    'export type Calls = {',
    ...calls,
    '}',
    '',
  ].join('\n')
}

async function listRoutes(): Promise<RouteOptions[]> {
  const routes: RouteOptions[] = []
  const http = createHttp()
  const db = connect({ database: 'postgres://nobody@127.0.0.1:1/none', max: 1 })
  const app = await createApp({
    db,
    hotDb: db,
    messageDb: db,
    settleDb: db,
    log: pino({ level: 'silent' }),
    metrics: createMetrics(),
    sealer: createSealer('0'.repeat(64)),
    channels: createChannels(http),
    live: { announce: () => {}, listen: () => () => {}, stop: async () => {} },
    store: createFolderStore(join(import.meta.dirname, 'nowhere')),
    guard: createGuard({ allowedCidrs: [] }),
    setup: { token: '', getDemo: () => undefined },
    publicUrl: 'http://127.0.0.1',
    api: true,
    onMemberRoute: (route) => void routes.push(route),
  })
  await app.ready()
  await app.close()
  await http.stop()
  await db.end()
  return routes
}

/** One line of `Calls`: parameters, query and body as they go in, and the first success as it comes out. */
function describeCall({ method, url, schema = {}, config }: RouteOptions, named: Map<string, string>): string {
  const path = url.replace('/app/api', '').replace(/:(\w+)/g, '{$1}')
  const [answer] = config?.answers ? [config.answers] : Object.values((schema.response ?? {}) as Record<string, Schema>)
  const parts = [
    ...(schema.params ? [`params: ${write(schema.params, named)}`] : []),
    ...(schema.querystring ? [`query?: ${write(schema.querystring, named)}`] : []),
    ...(schema.body ? [`body: ${write(schema.body, named)}`] : []),
    `answer: ${answer ? write(answer, named) : 'unknown'}`,
  ]
  return `  '${method} ${path}': { ${parts.join('; ')} }`
}

/** A JSON schema as a type. One with a title is written once, under that name. */
function write(given: unknown, named: Map<string, string>): string {
  const schema = given as Schema
  const { title } = schema
  if (!title) return writePlain(schema, named)
  const type = writePlain(schema, named)
  if (named.has(title) && named.get(title) !== type) throw new Error(`two schemas are called ${title}`)
  named.set(title, type)
  return title
}

function writePlain(schema: Schema, named: Map<string, string>): string {
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.anyOf) return schema.anyOf.map((each) => write(each, named)).join(' | ')
  const types = [schema.type ?? []].flat()
  return types.map((type) => writeType(type, schema, named)).join(' | ') || 'unknown'
}

function writeType(type: string, schema: Schema, named: Map<string, string>): string {
  switch (type) {
    case 'integer':
      return 'number'
    case 'array':
      return `(${schema.items ? write(schema.items, named) : 'unknown'})[]`
    case 'object':
      return writeObject(schema, named)
    default:
      return type
  }
}

function writeObject({ properties, required = [], additionalProperties }: Schema, named: Map<string, string>): string {
  if (!properties) {
    const value = typeof additionalProperties === 'object' ? write(additionalProperties, named) : 'unknown'
    return `Record<string, ${value}>`
  }
  const fields = Object.entries(properties).map(([name, schema]) =>
    required.includes(name)
      ? `${key(name)}: ${write(schema, named)}`
      : `${key(name)}?: ${write(schema, named)} | undefined`,
  )
  return fields.length > 0 ? `{ ${fields.join('; ')} }` : 'Record<string, never>'
}

const key = (name: string): string => (/^\w+$/.test(name) ? name : JSON.stringify(name))

if (import.meta.main) writeFileSync(callsFile, await describeCalls())
