/**
 * The routes that the service registers, and the OpenAPI document made from them.
 *
 * It creates the application without a database, because no route is called that needs one.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RouteOptions } from 'fastify'
import { pino } from 'pino'
import { times } from '../common/times.ts'
import { createApp } from '../server/app.ts'
import { createChannels } from '../server/channels/adapters.ts'
import { createSealer } from '../server/lib/crypto.ts'
import { createHttp } from '../server/lib/http/client.ts'
import { connect } from '../server/lib/postgres/db.ts'
import { createHealth } from '../server/lib/process/health.ts'
import { createMetrics } from '../server/lib/process/metrics.ts'
import { createFolderStore } from '../server/lib/store-folder.ts'
import { createSignals } from '../server/signals/signals.ts'
import { createGuard } from '../server/webhooks/guard.ts'
import type { Schema } from './types-of-schema.ts'

const server = join(import.meta.dirname, '../server')

/** The parts of an OpenAPI document that the generators read. */
export type ApiDocument = {
  info: { title: string; description: string }
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, ApiOperation>>
  components: { schemas: Record<string, Schema> }
}
export type ApiOperation = {
  operationId: string
  summary: string
  description?: string
  tags: string[]
  parameters?: { name: string; in: string; required: boolean; description?: string; schema: Schema }[]
  requestBody?: { content: Content }
  responses: Record<string, { description: string; content: Content }>
}
type Content = { 'application/json': { schema: Schema; example?: unknown } }

/** A route with the file that registers it, relative to `server/`. */
export type RegisteredRoute = RouteOptions & { file: string }

export async function describeService(): Promise<{ routes: RegisteredRoute[]; document: ApiDocument }> {
  const routes: RegisteredRoute[] = []
  const http = createHttp()
  const db = connect({ database: 'postgres://none@127.0.0.1:1/none', max: 1 })
  const live = { announce: () => {}, listen: () => () => {}, stop: async () => {} }
  const app = await createApp({
    pools: { general: db, slow: db, reads: db, admission: db, messages: db, settle: db },
    log: pino({ level: 'silent' }),
    metrics: createMetrics(),
    health: createHealth(times.health),
    sealer: createSealer('0'.repeat(64)),
    channels: createChannels(http, times.messages),
    live,
    signals: createSignals(live),
    store: createFolderStore(join(import.meta.dirname, 'none')),
    guard: createGuard({ allowedCidrs: [], times: times.webhooks }),
    setup: { token: '', getDemo: () => undefined },
    publicUrl: 'http://127.0.0.1',
    times,
    onRoute: (route) => void routes.push({ ...route, file: registeringFile() ?? fileOfRow(route) }),
  })
  const document = (await app.inject('/openapi.json')).json<ApiDocument>()
  await app.close()
  await http.stop()
  await db.end()
  return { routes, document }
}

/** The first file of a module on the call stack is the one that calls `app.get(…)`. Undefined for a row of a table. */
function registeringFile(): string | undefined {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 40
  const { stack = '' } = new Error('to read the call stack')
  Error.stackTraceLimit = limit
  const files = [...stack.matchAll(/\/server\/([\w-]+\/[\w/-]+\.ts):/g)].map(([, file = '']) => file)
  const file = files.find((file) => !file.startsWith('lib/'))
  return file === 'accounts/table.ts' ? undefined : file
}

/** The rows of all tables: the file, the text before `run`, and the pattern of the call. `${…}` in a call stands for a part of the path. */
const rows = globSync('*/**/*.ts', { cwd: server })
  .sort()
  .flatMap((file) => {
    const text = readFileSync(join(server, file), 'utf8')
    return [...text.matchAll(/^ +call: ['`](.+)['`],$/gm)].map(({ 1: call = '', index }) => ({
      file,
      head: /[\s\S]*?^ +run\b/m.exec(text.slice(index))?.[0] ?? '',
      pattern: new RegExp(`^${call.replace(/[.]/g, '\\.').replace(/\$\{\w+\}/g, '[a-z-]+')}$`),
    }))
  })

function fileOfRow({ method, url }: RouteOptions): string {
  const call = `${method} ${url.replace(/^\/(v1|app\/api)/, '')}`
  const found = rows.filter(({ pattern }) => pattern.test(call))
  // Keys and members may have rows of their own for a call.
  const isOfMembers = url.startsWith('/app/api/')
  const row = found.find(({ head }) => /^ +members\b/m.test(head) === isOfMembers) ?? found[0]
  if (!row) throw new Error(`${call} is in no table`)
  return row.file
}
