/**
 * Ten workspaces with slow filters beside one that makes ordinary calls: the p99 of its calls against the p99 of the idle service. Rounds
 * alternate, and the median ratio counts. The seconds in which the service finds out who is slow do not count: it tries the first filter
 * of each workspace.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { insertMember } from '../server/accounts/members.ts'
import { createWorkspace } from '../server/accounts/workspaces.ts'
import { hashPassword } from '../server/lib/crypto.ts'
import type { Figure } from './figure.ts'
import type { Measured } from './load.ts'
import { insertPeople, phoneOf } from './people.ts'
import { createKeys, discard, measureLoad, type Service, startService, toRequest } from './service.ts'

const hostileCount = 10
const people = 50_000
const rounds = 3
/** A member may make 12,000 calls in a minute. */
const memberCount = 3
const seconds = 4
/** How long the attack runs before the first measurement. */
const leadSeconds = 3
/** As the reproduction of the attack: groups of text rules that read every contact. */
const rules = Array.from({ length: 4 }, (_, group) => ({
  match: 'any',
  rules: Array.from({ length: 50 }, (_, i) => ({ field: 'name', op: 'contains', value: `zz${group}${i}` })),
}))

export async function benchNeighbours(): Promise<Figure[]> {
  const service = await startService()
  const hostile: string[] = []
  for (let i = 0; i < hostileCount; i++) hostile.push(...(await createHostile(service, i)))
  await insertPeople(service.db, service.workspaceId, 0, people)
  await service.db`analyze contacts`
  const calls = Object.entries(await listCalls(service))
  const measureAll = async () => {
    const measured: Measured[] = []
    for (const [, requests] of calls)
      measured.push(await measureLoad({ port: service.port, requests, connections: 1, seconds }))
    return measured
  }
  const idle: Measured[][] = []
  const busy: Measured[][] = []
  for (let round = 0; round < rounds; round++) {
    idle.push(await measureAll())
    const attackSeconds = leadSeconds + calls.length * (seconds + 2)
    const attack = measureLoad({ port: service.port, requests: hostile, connections: 80, seconds: attackSeconds })
    await new Promise((resolve) => setTimeout(resolve, leadSeconds * 1_000))
    busy.push(await measureAll())
    await attack
    await untilQuiet(service)
  }
  const figures = calls.map(([what], i): Figure => {
    const pairs = idle.map((measured, round) => ({
      idle: p99Of(measured[i]),
      busy: p99Of(busy[round]?.[i]),
      failures: busy[round]?.[i]?.failures ?? 0,
    }))
    const ratios = pairs.map((pair) => pair.busy / pair.idle).sort((one, other) => one - other)
    const name = `${what} beside ${hostileCount} workspaces with slow filters: p99 against idle`
    const notes = pairs.map(
      (pair) => `${pair.busy.toFixed(1)}/${pair.idle.toFixed(1)} ms${pair.failures ? `, ${pair.failures} failed` : ''}`,
    )
    const value = ratios[Math.floor(rounds / 2)] ?? 0
    return { what: name, value, unit: '×', goal: { below: 2 }, note: notes.join('; ') }
  })
  await service.stop()
  discard(service)
  return figures
}

/** Endless when no call was answered. */
const p99Of = (measured: Measured | undefined): number => (measured?.requests ? measured.p99 : Number.POSITIVE_INFINITY)

/** Waits for statements whose callers have left. */
async function untilQuiet({ db }: Service): Promise<void> {
  for (let quietPolls = 0; quietPolls < 5; ) {
    const [running] = await db`
      select from pg_stat_activity where state = 'active' and query ~ 'from contacts c' and pid <> pg_backend_pid()`
    quietPolls = running ? 0 : quietPolls + 1
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

/** A workspace with many contacts and a slow segment. Returns the requests that count it, each with a key of its own. */
async function createHostile(service: Service, index: number): Promise<string[]> {
  const { db, url } = service
  const owner = { email: `hostile-${index}@bench.test`, password: 'correct horse battery' }
  const { workspace_id: workspaceId } = await db.begin((sql) =>
    createWorkspace(sql, { name: `Hostile ${index}`, default_country: 'US', owner }),
  )
  await insertPeople(db, workspaceId, 0, people)
  const keys = await createKeys({ db, workspaceId }, 40)
  const answer = await fetch(`${url}/v1/segments`, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys[0]}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Slow', kind: 'dynamic', filter: { match: 'any', rules } }),
  })
  const [segment] = await db<{ id: string }[]>`select id from segments where workspace_id = ${workspaceId}`
  if (!segment) throw new Error(await answer.text())
  return keys.map((token) => toRequest({ path: `/v1/segments/${segment.id}`, token }))
}

async function listCalls(service: Service): Promise<Record<string, string[]>> {
  const { web_site_id } = JSON.parse(readFileSync(join(service.dataDir, 'demo.json'), 'utf8'))
  const cookies: string[] = []
  for (let i = 0; i < memberCount; i++) cookies.push(await signInAs(service, `agent-${i}@bench.test`))
  const keys = await createKeys(service, 400)
  const byKey = (path: string) => keys.map((token) => toRequest({ path, token }))
  return {
    'GET /contacts?phone=': byKey(`/v1/contacts?phone=${encodeURIComponent(phoneOf(7))}`),
    'GET /conversations': byKey('/v1/conversations'),
    'a search of contacts': byKey('/v1/contacts?search=dekelo'),
    'the session of a member': cookies.map((Cookie) => toRequest({ path: '/app/api/session', headers: { Cookie } })),
    'the settings of the web chat': [toRequest({ path: `/web-chat/${web_site_id}/settings` })],
    '/readyz': [toRequest({ path: '/readyz' })],
  }
}

/** Creates a member. Returns the cookies of a session. */
async function signInAs({ db, workspaceId, url }: Service, email: string): Promise<string> {
  const password = 'correct horse battery'
  const passwordHash = await hashPassword(password)
  await insertMember(db, workspaceId, { email, name: null, role: 'agent', passwordHash, isEmailProved: true })
  const answer = await fetch(`${url}/app/api/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: url },
    body: JSON.stringify({ email, password }),
  })
  return answer.headers
    .getSetCookie()
    .map((text) => text.split(';')[0])
    .join('; ')
}
