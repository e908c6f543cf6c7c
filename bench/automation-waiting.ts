/**
 * 100,000 waiting runs and as many conversations that automations watch for silence: how late a run starts that becomes due, and which rows
 * the statements of the engine read.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Parley } from '../sdk/src/index.ts'
import { claimRuns } from '../server/automation/runs.ts'
import { startSilent } from '../server/automation/silence.ts'
import type { Sql } from '../server/lib/postgres/db.ts'
import { type Explained, explainAll } from './explain.ts'
import type { Figure } from './figure.ts'
import { insertConversations, insertPeople } from './people.ts'
import type { Service } from './service.ts'

const count = 100_000
/** Those before have been answered. */
const firstPerson = 10_000
const due = { perSecond: 20, seconds: 15 }
/** Runs that are due at once when the claim is explained: as many as a claim takes of one workspace. */
const claimed = 16
const dayMs = 24 * 60 * 60 * 1000
const channels = { msgapp: { windowMs: dayMs }, social: { windowMs: dayMs }, web: { windowMs: null } }
const times = { leaseMs: 15_000 }
/** Of the poll that finds nothing to do. */
const idleSeconds = 10

export async function measureWaiting(service: Service, parley: Parley): Promise<Figure[]> {
  const { db, workspaceId } = service
  await insertPeople(db, workspaceId, firstPerson, firstPerson + count)
  await insertConversations(db, workspaceId)
  await spreadConversations(service)
  const wait = await publish(parley, 'Wait', {
    trigger: { type: 'manual' },
    steps: [
      { type: 'wait', for: '30d' },
      { type: 'note', text: 'It is time.' },
    ],
  })
  for (const event of ['waiting', 'no_reply', 'window_ends'] as const) {
    const trigger = { type: 'silence' as const, event, after: '2h' as const }
    await publish(parley, event, { trigger, steps: [{ type: 'note', text: event }] })
  }
  await insertWaiting(service, wait)
  // The counters of the database are up to date.
  await sleep(10_000)
  const polled = await countRead(service)
  const lateness = await measureLateness(service, wait)
  const claims = await explainAll(db, (sql) => claimRuns(sql, 64, times))
  const full = await explainAll(db, async (sql) => {
    await makeDue(sql, workspaceId, wait, claimed)
    await claimRuns(sql, 64, times)
  })
  const silent = await explainAll(db, (sql) => startSilent({ db: sql, channels, times }))
  const what = `with ${count.toLocaleString('en')} waiting runs`
  return [
    {
      what: `${what}: a due run starts late by, at most`,
      value: Math.max(...lateness),
      unit: 'ms',
      goal: { below: 2_000 },
      note: `of ${lateness.length}, ${due.perSecond} per second; p50 ${lateness.toSorted((a, b) => a - b)[lateness.length >> 1]?.toFixed(0)} ms`,
    },
    toFigure(`${what}: rows that a claim reads when none is due`, 10, claims),
    toFigure(`${what}: rows that a claim reads when ${claimed} are due`, 10 * claimed, full.slice(1)),
    toFigure(
      `${what} and ${count.toLocaleString('en')} conversations: rows that a check of three automations for silence reads`,
      200,
      silent,
    ),
    {
      what: `${what}: rows of runs that the service reads per second with nothing to do`,
      value: polled / idleSeconds,
      unit: 'rows',
      goal: { below: 50 },
    },
  ]
}

const toFigure = (what: string, below: number, explained: readonly Explained[]): Figure => ({
  what,
  value: explained.reduce((sum, { read }) => sum + read, 0),
  unit: 'rows',
  goal: { below },
  note: explained.map(({ read, buffers }) => `${read} rows, ${buffers} pages`).join('; '),
})

async function publish(
  parley: Parley,
  name: string,
  definition: Parameters<Parley['automations']['check']>[0],
): Promise<string> {
  const { id } = await parley.automations.create({ name, definition })
  await parley.automations.publish(id)
  return id
}

/** Open conversations of the last 30 days. In a half of them the customer waits, in the others the team has replied. */
async function spreadConversations({ db, workspaceId }: Service): Promise<void> {
  await db`
    update conversations v set connection_id = k.id, status = 'open', inbox_at = s.at, last_message_at = s.at, last_inbound_at = s.at,
      last_received_at = s.at - case when s.is_waiting then interval '0' else interval '1 minute' end,
      waiting_since = case when s.is_waiting then s.at end
    from channel_connections k, (
      select id, now() - interval '1 minute' - row_number() over (order by id) * interval '30 days' / ${count}::int as at,
        row_number() over (order by id) % 2 = 0 as is_waiting
      from conversations where workspace_id = ${workspaceId}
    ) s
    where v.workspace_id = ${workspaceId} and v.channel = 'msgapp' and s.id = v.id and k.workspace_id = v.workspace_id
      and k.channel = 'msgapp' and k.simulator = 'alone'`
  await db`vacuum full analyze conversations`
}

/** A run in each conversation that waits for its second step, from an hour to 30 days. */
async function insertWaiting({ db, workspaceId }: Service, automationId: string): Promise<void> {
  await db`
    insert into automation_runs (workspace_id, id, automation_id, version, contact_id, conversation_id, cause, has_questions, state,
      position, due_at, started_at)
    select v.workspace_id, uuidv7(), ${automationId}, 1, v.contact_id, v.id, 'bench:' || v.id, false, 'waiting', '1',
      now() + interval '1 hour' + row_number() over (order by v.id) * interval '30 days' / ${count}::int, now()
    from conversations v
    where v.workspace_id = ${workspaceId} and v.channel = 'msgapp'`
  await db`vacuum analyze automation_runs`
}

/** Makes waiting runs due at a steady pace, and reads when the step after the wait was done. */
async function measureLateness({ db, workspaceId }: Service, automationId: string): Promise<number[]> {
  const total = due.perSecond * due.seconds
  const rows = await db<{ id: string; due_at: string }[]>`
    update automation_runs r set due_at = c.due_at
    from (
      select id, now() + interval '2 seconds' + row_number() over (order by due_at) * interval '1 second' / ${due.perSecond}::int as due_at
      from automation_runs where workspace_id = ${workspaceId} and automation_id = ${automationId} and state = 'waiting'
      order by due_at limit ${total}
    ) c
    where r.workspace_id = ${workspaceId} and r.id = c.id
    returning r.id, r.due_at`
  const dueAt = new Map(rows.map(({ id, due_at }) => [id, Date.parse(due_at)]))
  for (;;) {
    const done = await db<{ run_id: string; created_at: string }[]>`
      select run_id, created_at from automation_steps
      where workspace_id = ${workspaceId} and run_id = any(${[...dueAt.keys()]}::uuid[]) and type = 'note'`
    if (done.length === total)
      return done.map(({ run_id, created_at }) => Date.parse(created_at) - (dueAt.get(run_id) ?? 0))
    await sleep(500)
  }
}

/** Only in a transaction that is undone. */
async function makeDue(sql: Sql, workspaceId: string, automationId: string, runs: number): Promise<void> {
  await sql`
    update automation_runs set due_at = now() - interval '1 second'
    where workspace_id = ${workspaceId} and id in (
      select id from automation_runs
      where workspace_id = ${workspaceId} and automation_id = ${automationId} and state = 'waiting' order by due_at desc limit ${runs}
    )`
}

/** Rows of runs that all statements of the service read while nothing is due. */
async function countRead({ db }: Service): Promise<number> {
  const read = async (): Promise<number> => {
    const [row] = await db<{ count: number }[]>`
      select (seq_tup_read + idx_tup_fetch)::int as count from pg_stat_user_tables where relname = 'automation_runs'`
    return row?.count ?? 0
  }
  const before = await read()
  await sleep(idleSeconds * 1_000)
  return (await read()) - before
}
