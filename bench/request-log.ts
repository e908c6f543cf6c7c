/**
 * The request log: its share of the CPU time of `GET /v1/me`, of the service and its database. Two services take turns, one of
 * them without the log. The median of many short rounds evens out what else the machine does.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Figure } from './figure.ts'
import { createKeys, discard, measureLoad, type Service, startService, toRequest } from './service.ts'

const rounds = 25
const connections = 64
const seconds = 2
/** The log of a round is written within this time after it. */
const flushMs = 1_500
/** Of Linux: the unit of CPU times in /proc. */
const tickUs = 10_000

type Subject = {
  service: Service
  requests: string[]
  postmasterPid: number
  costs: { node: number; database: number }[]
}

export async function benchRequestLog(): Promise<Figure[]> {
  const without = join(import.meta.dirname, 'without-request-log.ts')
  const plain = await startSubject({ NODE_OPTIONS: `--import=${without}` })
  const logged = await startSubject({})
  for (let round = 0; round <= rounds; round++) {
    const pair = round % 2 === 0 ? [plain, logged] : [logged, plain]
    for (const subject of pair) await runRound(subject)
  }
  // The first round warms up.
  for (const { costs } of [plain, logged]) costs.shift()
  const [{ count } = { count: 0 }] = await logged.service.db<{ count: number }[]>`
    select coalesce(sum(json_array_length(entries::json)), 0)::int as count from request_blocks`
  if (count === 0) throw new Error('the log is empty')
  for (const { service } of [plain, logged]) {
    await service.stop()
    discard(service)
  }
  const medianOf = ({ costs }: Subject, pick: (cost: Subject['costs'][number]) => number) => median(costs.map(pick))
  const node = [plain, logged].map((subject) => medianOf(subject, (cost) => cost.node))
  const database = [plain, logged].map((subject) => medianOf(subject, (cost) => cost.database))
  const shares = logged.costs.map((cost, i) => {
    const other = plain.costs[i] ?? cost
    return (cost.node + cost.database) / (other.node + other.database) - 1
  })
  return [
    {
      what: `the request log's share of the CPU time of GET /v1/me (median of ${rounds} pairs)`,
      value: median(shares) * 100,
      unit: '%',
      goal: { below: 3 },
      note: `service ${describe(node)} µs, database ${describe(database)} µs per request without and with it; ${count} requests logged`,
    },
  ]
}

async function startSubject(settings: Record<string, string>): Promise<Subject> {
  const service = await startService(undefined, settings)
  const keys = await createKeys(service, 2_000)
  const [backend] = await service.db<{ pid: number }[]>`select pg_backend_pid() as pid`
  const postmasterPid = readProcess(backend?.pid ?? 0)?.parentPid ?? 0
  return { service, requests: keys.map((token) => toRequest({ path: '/v1/me', token })), postmasterPid, costs: [] }
}

async function runRound(subject: Subject): Promise<void> {
  const { service, requests, costs } = subject
  await service.db`truncate api_key_windows`
  const before = readCpu(subject)
  const measured = await measureLoad({ port: service.port, requests, connections, seconds, warmUpSeconds: 0 })
  await sleep(flushMs)
  const after = readCpu(subject)
  if (measured.failures > 0) throw new Error(`${measured.failures} responses were not 200`)
  costs.push({
    node: (after.node - before.node) / measured.requests,
    database: (after.database - before.database) / measured.requests,
  })
}

/** Microseconds of the service, and of all processes of its database. */
function readCpu({ service, postmasterPid }: Subject): { node: number; database: number } {
  const all = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? (readProcess(Number(name)) ?? []) : []))
  const ofDatabase = all.filter(({ parentPid }) => parentPid === postmasterPid)
  return {
    node: readProcess(service.pid)?.cpuUs ?? 0,
    database: ofDatabase.reduce((sum, { cpuUs }) => sum + cpuUs, 0),
  }
}

/** Undefined if the process has ended. */
function readProcess(pid: number): { parentPid: number; cpuUs: number } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name of the program, which may contain spaces, is in brackets.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { parentPid: Number(fields[1]), cpuUs: (Number(fields[11]) + Number(fields[12])) * tickUs }
  } catch {
    return undefined
  }
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

const describe = (values: readonly number[]): string => values.map((value) => value.toFixed(1)).join(' and ')
