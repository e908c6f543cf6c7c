/**
 * Collects the dashboard routes and the OpenAPI document of the public API from the service itself.
 *
 * The service registers its routes but calls none that queries the database, so the database address is a dummy.
 */
import { join } from 'node:path'
import type { RouteOptions } from 'fastify'
import { pino } from 'pino'
import { createApp, createChannels } from '../server/app.ts'
import { createSealer } from '../server/lib/crypto.ts'
import { connect } from '../server/lib/db.ts'
import { createHealth } from '../server/lib/health.ts'
import { createHttp } from '../server/lib/http.ts'
import { createMetrics } from '../server/lib/metrics.ts'
import { createFolderStore } from '../server/lib/store.ts'
import { createGuard } from '../server/webhooks/guard.ts'
import type { Schema } from './types-of-schema.ts'

/** The parts of an OpenAPI document that the generators read. */
export type ApiDocument = {
  paths: Record<string, Record<string, ApiOperation>>
  components: { schemas: Record<string, Schema> }
}
export type ApiOperation = {
  operationId: string
  parameters?: { name: string; in: string; required: boolean; description?: string; schema: Schema }[]
  requestBody?: { content: Content }
  responses: Record<string, { content: Content }>
}
type Content = { 'application/json': { schema: Schema } }

export async function describeService(): Promise<{ memberRoutes: RouteOptions[]; document: ApiDocument }> {
  const memberRoutes: RouteOptions[] = []
  const http = createHttp()
  const db = connect({ database: 'postgres://unused@127.0.0.1:1/unused', max: 1 })
  const app = await createApp({
    db,
    hotDb: db,
    messageDb: db,
    settleDb: db,
    log: pino({ level: 'silent' }),
    metrics: createMetrics(),
    health: createHealth(),
    sealer: createSealer('0'.repeat(64)),
    channels: createChannels(http),
    live: { announce: () => {}, listen: () => () => {}, stop: async () => {} },
    store: createFolderStore(join(import.meta.dirname, 'unused')),
    guard: createGuard({ allowedCidrs: [] }),
    setup: { token: '', getDemo: () => undefined },
    publicUrl: 'http://127.0.0.1',
    api: true,
    onMemberRoute: (route) => void memberRoutes.push(route),
  })
  const document = (await app.inject('/openapi.json')).json<ApiDocument>()
  await app.close()
  await http.stop()
  await db.end()
  return { memberRoutes, document }
}
