/**
 * Automations that wait for silence: the customer waits, the customer has not replied, the reply window ends.
 *
 * No timer is kept for a conversation. Each automation remembers up to which time it was checked, and a check reads from an index the
 * conversations whose time has come since then. A run is unique per conversation and silence.
 */
import type { Times } from '../../common/times.ts'
import type { Channel } from '../channels/channel.ts'
import type { ChannelName } from '../contacts/resource.ts'
import { arrival, hasInboxStatus } from '../conversations/inbox-plan.ts'
import { type Db, type Fragment, type Sql, withRetries } from '../lib/postgres/db.ts'
import { getDefinition } from './active.ts'
import { evaluate } from './conditions.ts'
import { insertRuns, type NewRun } from './decide.ts'
import type { Definition, Trigger } from './definition.ts'
import { toMs } from './durations.ts'
import type { Run } from './runs.ts'
import { hasQuestions } from './steps.ts'

/** Conversations per check of an automation, and all whose time is that of the last one. The next check goes on with the rest. */
const batchSize = 200

export type SilenceContext = {
  db: Db
  channels: Record<ChannelName, Pick<Channel, 'windowMs'>>
  times: Pick<Times['automation'], 'leaseMs'>
}

type Waiting = { workspace_id: string; id: string; version: number }
type SilenceTrigger = Extract<Trigger, { type: 'silence' }>

/** Checks all automations that wait for silence. Returns the runs to execute, leased to this worker. */
export async function startSilent(context: SilenceContext): Promise<Run[]> {
  const { db } = context
  const waiting = await db<Waiting[]>`
    select a.workspace_id, a.id, a.version from automations a
    where a.state = 'active' and a.kind = 'silence'
    order by a.checked_until nulls first`
  const runs: Run[] = []
  for (const automation of waiting) {
    runs.push(...(await withRetries(() => db.begin((sql) => check(sql, context, automation)))))
  }
  return runs
}

async function check(
  sql: Sql,
  { channels, times }: SilenceContext,
  { workspace_id, id, version }: Waiting,
): Promise<Run[]> {
  // Another worker that checks it, or a member who changes it, is first. As text, which has the microseconds.
  const [locked] = await sql<{ from: string; to: string }[]>`
    select coalesce(checked_until, now())::text as from, now()::text as to from automations
    where workspace_id = ${workspace_id} and id = ${id} and version = ${version} and state = 'active'
    for no key update skip locked`
  const definition = locked && (await getDefinition(sql, workspace_id, id, version))
  if (!locked || definition?.trigger.type !== 'silence') return []
  const silent = await listSilent(sql, workspace_id, definition.trigger, locked, channels)
  const last = silent.length >= batchSize ? (silent.at(-1)?.crossed_at ?? locked.to) : locked.to
  await sql`
    update automations set checked_until = ${last} where workspace_id = ${workspace_id} and id = ${id}`
  const met: Silent[] = []
  for (const one of silent) if (await isMet(sql, workspace_id, one, definition)) met.push(one)
  return startRuns(sql, workspace_id, { id, version, has_questions: hasQuestions(definition) }, met, times)
}

/** `crossed_at`: with the microseconds, because the next check goes on after it. */
type Silent = { id: string; contact_id: string; since: string; crossed_at: string }

/** Conversations whose time has come after `from` and until `to`, in this order. */
async function listSilent(
  sql: Sql,
  workspaceId: string,
  { event, after }: SilenceTrigger,
  { from, to }: { from: string; to: string },
  channels: SilenceContext['channels'],
): Promise<Silent[]> {
  const seconds = toMs(after) / 1000
  const windowSeconds = Math.max(...Object.values(channels).map(({ windowMs }) => (windowMs ?? 0) / 1000))
  const withWindow = Object.entries(channels).flatMap(([name, { windowMs }]) => (windowMs === null ? [] : name))
  const ranges: Record<SilenceTrigger['event'], { since: Fragment; delay: number; condition: Fragment }> = {
    waiting: {
      since: sql`v.waiting_since`,
      delay: seconds,
      condition: sql`v.waiting_since is not null and v.status <> 'closed' and v.bot_run_id is null`,
    },
    no_reply: {
      since: arrival(sql),
      delay: seconds,
      condition: sql`${hasInboxStatus(sql, workspaceId, 'open')} and v.waiting_since is null and v.inbox_at > v.last_received_at`,
    },
    window_ends: {
      since: sql`v.last_inbound_at`,
      delay: windowSeconds - seconds,
      condition: sql`v.status <> 'closed' and v.channel = any(${withWindow}::text[])`,
    },
  }
  const { since, delay, condition } = ranges[event]
  const interval = sql`make_interval(secs => ${delay})`
  return sql<Silent[]>`
    select v.id, v.contact_id, ${since} as since, (${since} + ${interval})::text as crossed_at
    from conversations v
    join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
    where v.workspace_id = ${workspaceId} and ${condition} and v.blocked_at is null and c.opted_out_at is null
      and ${since} > ${from}::timestamptz - ${interval} and ${since} <= ${to}::timestamptz - ${interval}
    order by ${since}
    fetch first ${batchSize} rows with ties`
}

async function isMet(
  sql: Sql,
  workspaceId: string,
  { id, contact_id }: Silent,
  { conditions }: Definition,
): Promise<boolean> {
  const subject = { workspaceId, contactId: contact_id, conversationId: id }
  const [result] = await evaluate(sql, subject, [conditions], { answers: {} })
  return result === true
}

/** Those with questions start only where no bot is. */
async function startRuns(
  sql: Sql,
  workspaceId: string,
  automation: NewRun['automation'],
  silent: readonly Silent[],
  times: SilenceContext['times'],
): Promise<Run[]> {
  const free = automation.has_questions ? await lockFree(sql, workspaceId, silent) : silent
  const toRun = ({ id, contact_id, since }: Silent): NewRun => ({
    ...{ automation, cause: `silence:${id}:${Date.parse(since)}`, contact_id, conversation_id: id },
    ...{ message_id: null, depth: 0 },
  })
  return insertRuns(sql, workspaceId, free.map(toRun), times)
}

/** The conversations without a bot, locked. */
async function lockFree(sql: Sql, workspaceId: string, silent: readonly Silent[]): Promise<Silent[]> {
  const rows = await sql<{ id: string }[]>`
    select id from conversations
    where workspace_id = ${workspaceId} and id = any(${silent.map(({ id }) => id)}::uuid[]) and bot_run_id is null
    order by id
    for no key update`
  const ids = new Set(rows.map(({ id }) => id))
  return silent.filter(({ id }) => ids.has(id))
}
