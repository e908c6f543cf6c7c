/** Health, metrics and the OpenAPI document. */
import type { Db } from '../lib/db.ts'
import type { Health } from '../lib/health.ts'
import type { Metrics } from '../lib/metrics.ts'
import { isMigrated } from '../lib/migrate.ts'
import type { App } from '../lib/server.ts'

type System = { db: Db; metrics: Metrics; health: Health; document: object | undefined }

export const systemRoutes =
  ({ db, metrics, health, document }: System) =>
  async (app: App) => {
    watchDatabase(db, metrics)
    let isUpToDate = false

    app.get('/healthz', async () => ({ status: 'ok' }))
    app.get('/readyz', async (request, reply) => {
      const failing = health.failing()
      try {
        isUpToDate ||= await within(timeoutMs, isMigrated(db))
        if (isUpToDate) await within(timeoutMs, db`select 1`)
        else failing.push('migrations')
      } catch (error) {
        request.log.warn({ err: error }, 'the database does not respond')
        failing.push('database')
      }
      if (failing.length > 0) return reply.code(503).send({ ready: false, failing })
      return { ready: true, status: 'ready' }
    })
    app.get('/metrics', async (_request, reply) => {
      reply.type(metrics.contentType)
      return metrics.read()
    })
    if (!document) return

    const text = Buffer.from(JSON.stringify(document))
    app.get('/openapi.json', { config: { hasEtag: true } }, async (_request, reply) =>
      reply.header('cache-control', 'no-cache').type('application/json; charset=utf-8').send(text),
    )
  }

/** A database that does not respond within this time counts as unavailable. */
const timeoutMs = 2_000

/** Rejects if `promise` takes longer than `ms`. */
function within<Value>(ms: number, promise: Promise<Value>): Promise<Value> {
  const timeout = new Promise<never>((_, reject) => {
    setTimeout(() => reject(new Error(`no response within ${ms} ms`)), ms).unref()
  })
  return Promise.race([promise, timeout])
}

/** Reports the number of Parley's database connections by state. */
function watchDatabase(db: Db, metrics: Metrics): void {
  metrics.gauge(
    'parley_database_connections',
    'Connections of Parley to its database, by state.',
    'state',
    async () => {
      const states = await within(
        timeoutMs,
        db<{ state: string; count: number }[]>`
      select coalesce(state, 'other') as state, count(*)::int as count from pg_stat_activity
      where datname = current_database() and application_name = 'parley' group by 1`,
      )
      return Object.fromEntries(states.map(({ state, count }) => [state, count]))
    },
  )
}
