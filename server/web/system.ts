/** Health, metrics and the OpenAPI document. Health and metrics cover all processes of the service. */
import { version } from '../../common/version.ts'
import type { App } from '../lib/http/server.ts'
import type { Db } from '../lib/postgres/db.ts'
import { isMigrated } from '../lib/postgres/migrate.ts'
import type { Disk } from '../lib/process/disk.ts'
import type { Health } from '../lib/process/health.ts'
import { listProcesses } from '../lib/process/heartbeat.ts'
import type { Metrics, MetricsShare } from '../lib/process/metrics.ts'
import type { Peers } from '../lib/process/peers.ts'
import { hasCode } from '../lib/process/start-error.ts'
import { Type } from '../lib/schema.ts'
import { createTtlCache } from '../lib/ttl-cache.ts'
import { diskWithLeastShare, listEngines, listFailing } from './checks.ts'

type System = {
  db: Db
  metrics: Metrics
  health: Health
  /** Of the data folders. */
  disk?: Disk | undefined
  /** The other processes of the service. */
  peers?: Peers | undefined
  document?: { webhooks?: object } | undefined
}

export const systemRoutes =
  ({ db, metrics, health, disk, peers, document }: System) =>
  async (app: App) => {
    metrics.gauge('parley_build_info', 'The version of the service; the value is 1.', 'version', async () => ({
      [version]: 1,
    }))
    watchDatabase(db, metrics)
    watchWorkspaces(db, metrics)
    if (disk) watchSpace(disk, metrics)
    if (peers) watchRestarts(peers, metrics)
    watchProcesses(db, metrics)
    let isUpToDate = false

    app.get('/healthz', async () => ({ status: 'ok' }))
    app.get('/readyz', async (request, reply) => {
      const others = peers ? await readPeers(peers) : { failing: [], restarting: [] }
      const failing = [...health.failing(), ...others.failing]
      if (await disk?.isFull()) failing.push('disk')
      const restarting = others.restarting.length > 0 ? { restarting: others.restarting } : {}
      try {
        isUpToDate ||= await within(timeoutMs, isMigrated(db))
        // Needs the schema: a database that was replaced by an empty one also answers.
        const hasTables = isUpToDate && (await within(timeoutMs, db`select from migrations limit 1`)).length > 0
        if (!hasTables) failing.push('migrations')
      } catch (error) {
        const hasNoTable = hasCode(error, '42P01')
        request.log.warn({ err: error }, hasNoTable ? 'the database has no tables' : 'the database does not respond')
        failing.push(hasNoTable ? 'migrations' : 'database')
      }
      if (failing.length === 0) return { ready: true, status: 'ready', ...restarting }
      return reply.code(503).send({ ready: false, failing: [...new Set(failing)], ...restarting })
    })
    app.get('/metrics', async (_request, reply) => {
      const others = await peers?.ask(metricsQuestion, metrics.gaugeNames())
      reply.type(metrics.contentType)
      return metrics.read(others?.answers.flatMap(({ value }) => (value as MetricsShare | undefined) ?? []))
    })
    if (!document) return

    // Serialized once: the entity tag and the compressed bytes of a buffer are kept.
    const text = Buffer.from(JSON.stringify(document))
    // Some generators of clients refuse the section `webhooks`.
    const { webhooks: _, ...rest } = document
    const textWithoutWebhooks = Buffer.from(JSON.stringify(rest))
    app.get(
      '/openapi.json',
      { config: { hasEtag: true }, schema: { querystring: Type.Object({ webhooks: Type.Optional(Type.Unknown()) }) } },
      async ({ query }, reply) =>
        reply
          .header('cache-control', 'no-cache')
          .type('application/json; charset=utf-8')
          .send(query.webhooks === 'false' ? textWithoutWebhooks : text),
    )
  }

const metricsQuestion = 'metrics'
const healthQuestion = 'health'

/** Answers the health and metrics questions of the other processes of the service. */
export function answerPeers(peers: Peers, { metrics, health }: Pick<System, 'metrics' | 'health'>): void {
  peers.answer(metricsQuestion, (otherGauges) => metrics.readShare(otherGauges as string[]))
  peers.answer(healthQuestion, () => health.failing())
}

/** A process that is restarted counts as failing after this time, like a background loop. */
const restartGraceMs = 30_000

/** The failing loops of the other processes, and the processes that do not run or do not answer. */
async function readPeers(peers: Peers): Promise<{ failing: string[]; restarting: string[] }> {
  const { answers, statuses } = await peers.ask(healthQuestion)
  const down = statuses.filter(({ isReady }) => !isReady)
  const isFailing = ({ wasReady, downMs }: (typeof down)[number]) => !wasReady || downMs >= restartGraceMs
  const isDown = new Set(down.map(({ process }) => process))
  return {
    failing: [
      ...down.filter(isFailing).map(({ process }) => nameOf(process)),
      ...answers.flatMap(({ process, value }) => (value as string[]) ?? (isDown.has(process) ? [] : nameOf(process))),
    ],
    restarting: down.filter(({ wasReady }) => wasReady).map(({ process }) => process),
  }
}

const nameOf = (process: string): string => `process ${process}`

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

/** More series than this would not help to find the workspace that fills the disk. */
const shownWorkspaces = 20
const sizesMs = 60_000

/**
 * Reports the space that the largest workspaces take in the database. It is an estimate from the statistics of the planner: the size of
 * each table with its indexes, times the share of the workspace among its rows. Counting the rows would take seconds.
 */
function watchWorkspaces(db: Db, metrics: Metrics): void {
  const readSizes = createTtlCache(async () => {
    const sizes = await within(
      timeoutMs,
      db<{ workspace_id: string; bytes: number }[]>`
        select w.id as workspace_id, round(sum(pg_total_relation_size(c.oid) * r.share))::float8 as bytes
        from pg_stats s
        join pg_namespace n on n.nspname = s.schemaname
        join pg_class c on c.relnamespace = n.oid and c.relname = s.tablename
        cross join lateral unnest(s.most_common_vals::text::uuid[], s.most_common_freqs) as r (workspace_id, share)
        join workspaces w on w.id = r.workspace_id
        -- Without the sums of partitioned tables: each partition has its own statistics.
        where s.schemaname = current_schema() and s.attname = 'workspace_id' and not s.inherited
        group by w.id
        order by bytes desc
        limit ${shownWorkspaces}`,
    )
    return Object.fromEntries(sizes.map(({ workspace_id, bytes }) => [workspace_id, bytes]))
  }, sizesMs)
  metrics.gauge(
    'parley_workspace_bytes',
    'Estimated space in the database, of the largest workspaces; without files.',
    'workspace',
    () => readSizes(''),
  )
}

/** Reports the space on the disk of the data folders, or on the one with the least share of free space. */
function watchSpace(disk: Disk, metrics: Metrics): void {
  metrics.gauge('parley_disk_bytes', 'Space on the disk of the data folder.', 'what', async () => {
    const space = diskWithLeastShare((await disk.readAll()) ?? [])
    return space ? { free: space.freeBytes, total: space.totalBytes } : {}
  })
}

/** Reports how often each process of the service was restarted. */
function watchRestarts(peers: Peers, metrics: Metrics): void {
  metrics.gauge(
    'parley_process_restarts',
    'Restarts of each process of the service since the service started.',
    'process',
    async () => {
      const { statuses } = await peers.ask(healthQuestion)
      return Object.fromEntries(statuses.map(({ process, restarts }) => [process, restarts]))
    },
  )
}

/** Reports the processes of all services. */
function watchProcesses(db: Db, metrics: Metrics): void {
  metrics.gauge(
    'parley_processes',
    'Processes of all services: silent ones, ones with a failing loop, and ones that run the engines.',
    'what',
    async () => {
      const processes = await within(timeoutMs, listProcesses(db))
      return {
        silent: processes.filter(({ is_silent }) => is_silent).length,
        failing: listFailing(processes).length,
        engines: listEngines(processes).length,
      }
    },
  )
}
