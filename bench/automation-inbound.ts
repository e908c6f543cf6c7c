/**
 * What automation costs the messages of customers: the CPU time of Node and PostgreSQL per message until everything that follows is done.
 *
 * With 50 active rules that do not match, against none: the same service, whose rules are switched on and off between rounds. With none,
 * against the commit before automation: `BASELINE=/path/to/a/clone npm run bench automation-inbound`, where the clone has that commit
 * (the parent of the one that added `migrations/0062_automations.sql`) and its packages. Both services take turns in the same minutes;
 * two rounds of the same service in a row show how much of a difference is chance. They are started several times, because two processes
 * with the same code differ, too. What a service needs with nothing to do is subtracted, by the time that a round took, and reported apart.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Parley } from '../sdk/src/index.ts'
import { type Cpu, cpuPer, readCpu } from './cpu.ts'
import type { Figure } from './figure.ts'
import { post, type Subject, toSubject, write } from './inbound.ts'
import { connectTo, createKeys, discard, type Service, startService, startSimulator } from './service.ts'

const starts = 2
const sizes = [
  { perCallback: 100, callbacks: 60, rounds: 3, name: 'callbacks of 100 messages' },
  { perCallback: 1, callbacks: 2_000, rounds: 2, name: 'callbacks of one message' },
]
const idleSeconds = 10
const ruleCount = 50

type Kind = 'before' | 'again' | 'without' | 'with'
type Round = Record<Kind, Cpu>
/** Microseconds per second. */
type Idle = Record<'before' | 'without' | 'with', Cpu>

export async function benchAutomationInbound(): Promise<Figure[]> {
  const clone = process.env.BASELINE
  const simulator = await startSimulator()
  const dirs = ['now', 'before'].map((name) => mkdtempSync(join(tmpdir(), `parley-bench-${name}-`)))
  const rounds = sizes.map((): Round[] => [])
  const idle: Idle[] = []
  for (let i = 0; i < starts; i++) {
    const service = await startService(dirs[0])
    const older = await startService(dirs[1], {}, clone)
    const subjects = {
      now: toSubject(service, await connectTo(simulator.url, service)),
      before: toSubject(older, await connectTo(simulator.url, older)),
    }
    if (i === 0) await createRules(service)
    const idleNow = await measureIdle(service, subjects)
    idle.push(idleNow)
    for (const [index, size] of sizes.entries())
      rounds[index]?.push(...(await measureSize(service, subjects, size, idleNow)))
    await service.stop()
    await older.stop()
    if (i < starts - 1) continue
    discard(service)
    discard(older)
  }
  await simulator.stop()
  const figures = sizes.flatMap(({ name }, i) => toFigures(name, rounds[i] ?? [], clone !== undefined))
  return [...figures, ...(clone === undefined ? [] : [toIdleFigure(idle)])]
}

type Subjects = { now: Subject; before: Subject }

async function measureIdle(service: Service, { now, before }: Subjects): Promise<Idle> {
  const measure = async (subject: Subject): Promise<Cpu> => {
    // After a start there is more to do for a while.
    await sleep(idleSeconds * 1000)
    const start = readCpu(subject.cpuOf)
    await sleep(idleSeconds * 1000)
    return cpuPer(start, readCpu(subject.cpuOf), idleSeconds)
  }
  await switchRules(service, false)
  const idle = { before: await measure(before), without: await measure(now) }
  await switchRules(service, true)
  return { ...idle, with: await measure(now) }
}

async function measureSize(
  service: Service,
  { now, before }: Subjects,
  { perCallback, callbacks, rounds }: (typeof sizes)[number],
  idle: Idle,
): Promise<Round[]> {
  const measure = async (subject: Subject, unrelated: Cpu): Promise<Cpu> => {
    const bodies = write(subject, 0, callbacks, perCallback)
    const start = readCpu(subject.cpuOf)
    const startedAt = performance.now()
    await post(subject, bodies, perCallback)
    await untilDone(subject)
    const count = callbacks * perCallback
    const { node, database } = cpuPer(start, readCpu(subject.cpuOf), count)
    const seconds = (performance.now() - startedAt) / 1000
    return {
      node: node - (unrelated.node * seconds) / count,
      database: database - (unrelated.database * seconds) / count,
    }
  }
  const measured: Round[] = []
  for (let i = 0; i <= rounds; i++) {
    // The order changes, so that no kind always follows the same one.
    const kinds: Kind[] = i % 2 === 0 ? ['before', 'without', 'again', 'with'] : ['with', 'again', 'without', 'before']
    const round: Partial<Round> = {}
    for (const kind of kinds) {
      if (kind === 'with' || kind === 'without') await switchRules(service, kind === 'with')
      const name = kind === 'again' ? 'before' : kind
      round[kind] = await measure(name === 'before' ? before : now, idle[name])
    }
    // The first round warms up.
    if (i > 0) measured.push(round as Round)
  }
  return measured
}

/** Until the word index, the queue of automations and the like have nothing left to do. Without a statement, which would cost time. */
async function untilDone({ cpuOf }: Subject): Promise<void> {
  for (let quiet = 0; quiet < 3; ) {
    const start = readCpu(cpuOf)
    await sleep(400)
    const { node, database } = cpuPer(start, readCpu(cpuOf), 1)
    quiet = node + database < 60_000 ? quiet + 1 : 0
  }
}

/** Rules on messages: most on words, the others on a button or a type that the customers of the benchmark do not send. */
async function createRules(service: Service): Promise<void> {
  const [key = ''] = await createKeys(service, 1)
  const parley = new Parley({ apiKey: key, baseUrl: `${service.url}/v1` })
  for (let i = 0; i < ruleCount; i++) {
    const trigger =
      i % 5 < 3
        ? { type: 'message' as const, contains: [`opening hours ${i}`, `prices ${i}`, 'invoice'] }
        : i % 5 === 3
          ? { type: 'message' as const, button: `button-${i}` }
          : { type: 'message' as const, content_types: ['image' as const] }
    const steps = [{ type: 'send' as const, message: { type: 'text' as const, text: `Rule ${i}` } }]
    const { id } = await parley.automations.create({ name: `Rule ${i}`, definition: { trigger, steps } })
    await parley.automations.publish(id)
    await service.db`truncate api_key_windows`
  }
}

/** As publishing and pausing all of them would do. The engines learn it with their next poll. */
async function switchRules({ db, workspaceId }: Service, isOn: boolean): Promise<void> {
  await db.begin(async (sql) => {
    await sql`update automations set state = ${isOn ? 'active' : 'paused'} where workspace_id = ${workspaceId}`
    await sql`update workspaces set automation_kinds = ${isOn ? ['message'] : []} where id = ${workspaceId}`
  })
  await sleep(600)
}

function toIdleFigure(idle: readonly Idle[]): Figure {
  const total = (kind: keyof Idle) =>
    idle.reduce((sum, { [kind]: { node, database } }) => sum + node + database, 0) / idle.length / 1000
  return {
    what: 'with nothing to do: CPU per second, without an active automation',
    value: total('without'),
    unit: 'ms',
    note: `${total('before').toFixed(1)} ms before automation; ${total('with').toFixed(1)} ms with ${ruleCount} active rules`,
  }
}

function toFigures(name: string, rounds: readonly Round[], hasBaseline: boolean): Figure[] {
  const median = (read: (round: Round) => number) => rounds.map(read).toSorted((a, b) => a - b)[rounds.length >> 1] ?? 0
  const total = ({ node, database }: Cpu) => node + database
  const more = (one: Kind, other: Kind) => (median((round) => total(round[one]) / total(round[other])) - 1) * 100
  const cpuOf = (kind: Kind) =>
    `${Math.round(median((round) => round[kind].node))} µs of Node and ${Math.round(median((round) => round[kind].database))} µs of PostgreSQL`
  const chance = `two rounds of the same differ by ${(median((round) => Math.abs(total(round.again) / total(round.before) - 1)) * 100).toFixed(1)} %`
  const figures: Figure[] = [
    {
      what: `inbound with ${ruleCount} active rules, none matching, ${name}: CPU beyond that without (median of ${rounds.length})`,
      value: more('with', 'without'),
      unit: '%',
      goal: { below: 10 },
      note: `${cpuOf('with')} against ${cpuOf('without')}; ${chance}`,
    },
  ]
  if (!hasBaseline) return figures
  const before: Figure = {
    what: `inbound without an active automation, ${name}: CPU beyond that of the commit before automation (median of ${rounds.length})`,
    value: more('without', 'before'),
    unit: '%',
    goal: { below: 2 },
    note: `${cpuOf('without')} against ${cpuOf('before')}; ${chance}`,
  }
  return [before, ...figures]
}
