/**
 * The request log: its CPU time per request, in the process and in the database, as a share of that of `GET /v1/me`.
 *
 * Rounds of requests and rounds of log entries alternate, so both are measured under the same load of the machine. Two services
 * in turns, one of them without the log, do not measure it: beside other programs, two equal services differ by 10 %.
 */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import pino from 'pino'
import { createRequestLog } from '../server/accounts/request-log.ts'
import { findEmbeddedPostgres } from '../server/lib/embedded/postgres.ts'
import { newId } from '../server/lib/id.ts'
import { connect, type Db } from '../server/lib/postgres/db.ts'
import { createMetrics } from '../server/lib/process/metrics.ts'
import { type Cpu, cpuPer, readCpu, readOwnCpuUs } from './cpu.ts'
import type { Figure } from './figure.ts'
import { createKeys, discard, measureLoad, type Service, startService, toRequest } from './service.ts'

const rounds = 15
const connections = 64
const seconds = 2
const keyCount = 2_000
const entriesPerRound = 10_000
const entriesPerTurn = 500
/** The log of a round is written within this time after it. */
const flushMs = 1_300
export async function benchRequestLog(): Promise<Figure[]> {
  const service = await startService()
  const keys = await createKeys(service, keyCount)
  const requests = keys.map((token) => toRequest({ path: '/v1/me', token }))
  const address = await findEmbeddedPostgres(service.dataDir)
  if (!address) throw new Error('the service has no embedded database')
  const db = connect({ database: address, max: 1 })
  const [backend] = await db<{ pid: number }[]>`select pg_backend_pid() as pid`
  const logPid = backend?.pid ?? 0
  const { record, stop } = createRecorder(db)

  const logCosts: Cpu[] = []
  const requestCosts: Cpu[] = []
  for (let round = 0; round <= rounds; round++) {
    requestCosts.push(await measureRequests(service, requests))
    logCosts.push(await measureEntries(record, service.workspaceId, logPid))
  }
  await stop()
  await db.end({ timeout: 1 })
  await service.stop()
  discard(service)

  // The first round warms up. The requests include the log of the service itself, so the share is of the rest.
  const shares = logCosts.slice(1).map((log, i) => {
    const request = requestCosts[i + 1] ?? log
    return totalOf(log) / (totalOf(request) - totalOf(log))
  })
  return [
    {
      what: `the request log's share of the CPU time of GET /v1/me (median of ${rounds})`,
      value: median(shares) * 100,
      unit: '%',
      goal: { below: 7 },
      note: `per request ${describe(logCosts)} for the log, ${describe(requestCosts)} in all`,
    },
  ]
}

/** The log as the service uses it, with requests that are ready to be recorded. */
function createRecorder(db: Db): { record: (workspaceId: string) => void; stop: () => Promise<void> } {
  const log = createRequestLog(db, pino({ level: 'silent' }), createMetrics())
  const hook = log.step.onResponse
  const ids = Array.from({ length: entriesPerRound }, () => newId())
  const keyIds = Array.from({ length: keyCount }, () => newId())
  const reply = { statusCode: 200, elapsedTime: 3.4 } as FastifyReply
  const done = () => {}
  let next = 0
  return {
    record(workspaceId) {
      const caller = { workspaceId, keyId: keyIds[next % keyCount] }
      const id = ids[next++ % entriesPerRound]
      const request = { caller, id, isInLog: false, originalUrl: '/v1/me', method: 'GET' } as FastifyRequest
      hook?.call(undefined as never, request, reply, done)
    },
    stop: log.stop,
  }
}

async function measureEntries(
  record: (workspaceId: string) => void,
  workspaceId: string,
  logPid: number,
): Promise<Cpu> {
  const before = { process: process.cpuUsage(), database: readOwnCpuUs(logPid) }
  for (let i = 0; i < entriesPerRound; i += entriesPerTurn) {
    for (let entry = 0; entry < entriesPerTurn; entry++) record(workspaceId)
    await nextTurn()
  }
  await sleep(flushMs)
  const { user, system } = process.cpuUsage(before.process)
  const database = readOwnCpuUs(logPid) - before.database
  return { node: (user + system) / entriesPerRound, database: database / entriesPerRound }
}

async function measureRequests(service: Service, requests: string[]): Promise<Cpu> {
  await service.db`truncate api_key_windows`
  const before = readCpu(service)
  const measured = await measureLoad({ port: service.port, requests, connections, seconds, warmUpSeconds: 0 })
  await sleep(flushMs)
  if (measured.failures > 0) throw new Error(`${measured.failures} responses were not 200`)
  return cpuPer(before, readCpu(service), measured.requests)
}

const totalOf = ({ node, database }: Cpu): number => node + database

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

function describe(costs: readonly Cpu[]): string {
  const medianOf = (pick: (cost: Cpu) => number) => median(costs.slice(1).map(pick)).toFixed(1)
  return `${medianOf((cost) => cost.node)} µs of the service and ${medianOf((cost) => cost.database)} µs of the database`
}
