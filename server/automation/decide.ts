/**
 * Decides which automations a change starts, and which question a message answers.
 *
 * One transaction per workspace reads the oldest changes of its queue, creates the runs and deletes the changes. An advisory lock keeps
 * the order: of two processes one decides for a workspace. All automations without questions run; of those with questions the first one
 * does, unless the conversation is with a bot already: then the message is its answer.
 */
import type { Times } from '../../common/times.ts'
import { idAt, msOfId, newId, timeOfId } from '../lib/id.ts'
import { type Db, type Fragment, type Sql, withRetries } from '../lib/postgres/db.ts'
import { type ActiveAutomation, listActive } from './active.ts'
import { evaluate } from './conditions.ts'
import { answerDelayMs, causesOfMessage, isFree, maxDepth } from './decisions.ts'
import { type Cause, matches } from './match.ts'
import { type EndReason, type Run, runColumns, stopRuns } from './runs.ts'
import { firstPosition } from './steps.ts'

/**
 * Runs with questions that a workspace may start for the changes of a second. By the time of the change: after an outage of the workers the
 * changes of minutes are decided at once, and none of them is too many.
 */
const maxStartsPerSecond = 100
/** Changes that are decided in one transaction. */
const batchSize = 50
/** Of an advisory lock: one process at a time decides for a workspace. */
const decideLock = 7_263_561

type DecideTimes = Pick<Times['automation'], 'leaseMs' | 'togetherMs'>

/** Decides the oldest changes of every workspace. Returns the runs to execute, leased to this worker, and whether there are more changes. */
export async function decideTriggers(
  db: Db,
  times: DecideTimes,
): Promise<{ runs: Run[]; hasMore: boolean; changed: Changed[] }> {
  const workspaces = await listQueued(db)
  const runs: Run[] = []
  const changed: Changed[] = []
  let hasMore = false
  for (const workspaceId of workspaces) {
    const decided = await withRetries(() => db.begin((sql) => decideFor(sql, workspaceId, times)))
    if (!decided) continue
    runs.push(...decided.runs)
    hasMore ||= decided.hasMore
    if (decided.conversationIds.length > 0) changed.push({ workspaceId, conversationIds: decided.conversationIds })
  }
  return { runs, hasMore, changed }
}

/** Conversations whose pages load them again. */
export type Changed = { workspaceId: string; conversationIds: string[] }

/** Every workspace with a queued change, found by one step in the index each. */
async function listQueued(sql: Sql): Promise<string[]> {
  const rows = await sql<{ workspace_id: string }[]>`
    with recursive queued_workspaces as (
      (select workspace_id from automation_triggers order by workspace_id limit 1)
      union all
      select (
        select t.workspace_id from automation_triggers t where t.workspace_id > w.workspace_id order by t.workspace_id limit 1
      )
      from queued_workspaces w
      where w.workspace_id is not null
    )
    select workspace_id from queued_workspaces where workspace_id is not null`
  return rows.map(({ workspace_id }) => workspace_id)
}

type QueuedTrigger = {
  id: string
  kind: 'message' | 'conversation' | 'contact' | 'target' | 'rating'
  event: string
  detail: string | null
  contact_id: string
  conversation_id: string | null
  message_id: string | null
  depth: number
  is_known: boolean
  is_opted_out: boolean
  bot_run_id: string | null
  text: string | null
  content_type: string | null
  button: string | null
  is_first: boolean
}

type Decision = { runs: Run[]; hasMore: boolean; conversationIds: string[] }

/** Undefined: another process decides for this workspace. */
async function decideFor(sql: Sql, workspaceId: string, times: DecideTimes): Promise<Decision | undefined> {
  const [lock] = await sql<{ is_held: boolean }[]>`
    select pg_try_advisory_xact_lock(${decideLock}, hashtext(${workspaceId})) as is_held`
  if (!lock?.is_held) return undefined
  const triggers = await readTriggers(sql, workspaceId)
  const automations = await listActive(sql, workspaceId)
  const known = triggers.filter(({ is_known }) => is_known)
  const wanted = await Promise.all(known.map((trigger) => findStarts(sql, workspaceId, trigger, automations)))
  const matching = wanted.flat()
  const answers = known.filter(({ kind, bot_run_id }) => kind === 'message' && bot_run_id !== null)
  const stops = known.filter(({ event }) => event === 'stop')
  // A reply of a member waits for this lock and ends the runs, or is seen here.
  const starting = matching.map(({ trigger }) => trigger)
  const bots = await lockConversations(sql, workspaceId, [...starting, ...answers, ...stops])
  const starts = await withoutReplied(sql, workspaceId, matching)
  const touched = new Set<string>()
  for (const { conversation_id } of stops) {
    if (conversation_id && (await stopRuns(sql, workspaceId, conversation_id, 'opted_out')) > 0)
      touched.add(conversation_id)
    if (conversation_id) bots.set(conversation_id, null)
  }
  for (const trigger of answers) await recordAnswer(sql, workspaceId, trigger, bots, times)
  const runs = await createRuns(sql, workspaceId, await chooseRuns(sql, workspaceId, starts, bots), times)
  for (const { has_questions, conversation_id } of runs)
    if (has_questions && conversation_id) touched.add(conversation_id)
  await sql`
    delete from automation_triggers
    where workspace_id = ${workspaceId} and id = any(${triggers.map(({ id }) => id)}::uuid[])`
  return { runs, hasMore: triggers.length === batchSize, conversationIds: [...touched] }
}

/** The oldest changes with what the triggers of automations ask for. `is_known`: neither the contact nor the conversation is gone. */
async function readTriggers(sql: Sql, workspaceId: string): Promise<QueuedTrigger[]> {
  return sql<QueuedTrigger[]>`
    select t.id, t.kind, t.event, t.detail, t.contact_id, t.conversation_id, t.message_id, t.depth,
      c.id is not null and (t.conversation_id is null or v.contact_id = t.contact_id) as is_known,
      c.opted_out_at is not null as is_opted_out, v.bot_run_id, m.content_text as text, m.content_type,
      m.interactive_reply_id as button,
      coalesce(t.detail, '') = 'opens' and not exists (
        select from conversations o join messages e on e.workspace_id = o.workspace_id and e.conversation_id = o.id
        where o.workspace_id = t.workspace_id and o.contact_id = t.contact_id and e.direction = 'inbound' and e.id < t.message_id
      ) as is_first
    from (
      select * from automation_triggers where workspace_id = ${workspaceId} order by id limit ${batchSize}
    ) t
    left join contacts c on c.workspace_id = t.workspace_id and c.id = t.contact_id
    left join conversations v on v.workspace_id = t.workspace_id and v.id = t.conversation_id
    left join messages m
      on m.workspace_id = t.workspace_id and m.conversation_id = t.conversation_id and m.id = t.message_id
    order by t.id`
}

/** What a queued change is for triggers: a message that opens its conversation is two causes. */
function causesOf(trigger: QueuedTrigger): Cause[] {
  const { kind, event, detail } = trigger
  if (kind === 'message') {
    if (event === 'stop') return []
    return causesOfMessage({ ...trigger, content_type: trigger.content_type ?? 'text' }, detail === 'opens')
  }
  if (kind === 'target') {
    const [clock, target, minutes] = (detail ?? '').split(' ')
    return [{ type: kind, event, clock, target, minutes: Number(minutes) } as Cause]
  }
  if (kind === 'rating') return [{ type: kind, rating: Number(detail) }]
  return kind === 'conversation'
    ? [{ type: kind, event, label: detail } as Cause]
    : [{ type: kind, event, tag: detail, attribute: detail } as Cause]
}

type Start = { trigger: QueuedTrigger; automation: ActiveAutomation }

/** The automations that the change starts, in their order. A contact who opted out starts none. */
async function findStarts(
  sql: Sql,
  workspaceId: string,
  trigger: QueuedTrigger,
  automations: readonly ActiveAutomation[],
): Promise<Start[]> {
  if (trigger.is_opted_out) return []
  const causes = causesOf(trigger)
  const candidates = automations.filter(({ definition }) => causes.some((cause) => matches(definition.trigger, cause)))
  if (candidates.length === 0) return []
  const { contact_id: contactId, conversation_id: conversationId, text, content_type: type } = trigger
  const met = await evaluate(
    sql,
    { workspaceId, contactId, conversationId },
    candidates.map(({ definition }) => definition.conditions),
    { message: type === null ? undefined : { text, type }, answers: {} },
  )
  return candidates.filter((_, i) => met[i]).map((automation) => ({ trigger, automation }))
}

/** The run with questions of each conversation, with the conversation locked. */
async function lockConversations(
  sql: Sql,
  workspaceId: string,
  triggers: readonly QueuedTrigger[],
): Promise<Map<string, string | null>> {
  const ids = [...new Set(triggers.flatMap(({ conversation_id }) => conversation_id ?? []))]
  if (ids.length === 0) return new Map()
  const rows = await sql<{ id: string; bot_run_id: string | null }[]>`
    select id, bot_run_id from conversations
    where workspace_id = ${workspaceId} and id = any(${ids}::uuid[])
    order by id
    for no key update`
  return new Map(rows.map(({ id, bot_run_id }) => [id, bot_run_id]))
}

/**
 * Without messages that a person has answered meanwhile, or whose conversation a person has taken over (`takeOver` deletes the change):
 * a bot must not talk over them.
 */
async function withoutReplied(sql: Sql, workspaceId: string, starts: readonly Start[]): Promise<Start[]> {
  const messages = starts.flatMap(({ trigger: { id, conversation_id, message_id } }) =>
    conversation_id && message_id ? [{ id, conversation_id, message_id }] : [],
  )
  if (messages.length === 0) return [...starts]
  const answered = await sql<{ message_id: string }[]>`
    select i.message_id
    from json_to_recordset(${JSON.stringify(messages)}::text::json) as i (id uuid, conversation_id uuid, message_id uuid)
    where exists (
      select from messages m
      where m.workspace_id = ${workspaceId} and m.conversation_id = i.conversation_id and m.id > i.message_id
        and ${isOfPerson(sql)}
    ) or not exists (
      select from automation_triggers t where t.workspace_id = ${workspaceId} and t.id = i.id
    )`
  const ids = new Set(answered.map(({ message_id }) => message_id))
  return starts.filter(({ trigger: { message_id } }) => !message_id || !ids.has(message_id))
}

/** Condition on message `m`: a member wrote it, or a person in the provider's own app. */
export const isOfPerson = (sql: Sql): Fragment =>
  sql`m.direction = 'outbound' and (m.sender_id is not null or (m.sender_type = 'agent' and m.sent_at is not null))`

/** Wakes the run that waits for an answer. A tap is complete; after a text, another one may follow at once. */
async function recordAnswer(
  sql: Sql,
  workspaceId: string,
  { conversation_id, message_id, button }: QueuedTrigger,
  bots: ReadonlyMap<string, string | null>,
  { togetherMs }: DecideTimes,
): Promise<void> {
  const runId = bots.get(conversation_id ?? '')
  if (!runId) return
  const seconds = answerDelayMs({ button }, togetherMs) / 1000
  await sql`
    update automation_runs set due_at = least(due_at, now() + make_interval(secs => ${seconds}))
    where workspace_id = ${workspaceId} and id = ${runId} and state = 'waiting' and asked_id < ${message_id}`
}

type Chosen = Start & { reason?: EndReason }

/** Without those that a guard or a bot in the conversation excludes. Those that a guard excludes are kept as ended runs. */
async function chooseRuns(
  sql: Sql,
  workspaceId: string,
  wanted: readonly Start[],
  bots: Map<string, string | null>,
): Promise<Chosen[]> {
  let starts: Map<number, number> | undefined
  const chosen: Chosen[] = []
  for (const start of wanted) {
    const { trigger, automation } = start
    const { conversation_id: conversationId } = trigger
    if (trigger.depth >= maxDepth) {
      chosen.push({ ...start, reason: 'limit_chain' })
      continue
    }
    if (!isFree(automation, conversationId ? { isWithBot: Boolean(bots.get(conversationId)) } : undefined)) continue
    if (automation.has_questions && conversationId) {
      starts ??= await countStarts(sql, workspaceId, wanted)
      const second = secondOf(trigger)
      const count = starts.get(second) ?? 0
      if (count >= maxStartsPerSecond) {
        chosen.push({ ...start, reason: 'limit_runs' })
        continue
      }
      starts.set(second, count + 1)
      bots.set(conversationId, automation.id)
    }
    chosen.push(start)
  }
  return chosen
}

/** A run has the id of its cause, and an id has its time. */
const idOfCause = ({ id, message_id }: QueuedTrigger): string => message_id ?? id
const toCause = (trigger: QueuedTrigger): string => `${trigger.message_id ? 'message' : 'change'}:${idOfCause(trigger)}`
const secondOf = (trigger: QueuedTrigger): number => Math.floor(msOfId(idOfCause(trigger)) / 1000)

/** The runs with questions that the changes of each second have started, of the seconds of these changes. Reads only their part of the index. */
async function countStarts(sql: Sql, workspaceId: string, wanted: readonly Start[]): Promise<Map<number, number>> {
  const seconds = wanted.map(({ trigger }) => secondOf(trigger))
  const [from, to] = [idAt(Math.min(...seconds) * 1000), idAt((Math.max(...seconds) + 1) * 1000)]
  const runs = await sql<{ cause: string }[]>`
    select r.cause
    from automations a
    cross join unnest(array['message:', 'change:']) as source
    join automation_runs r on r.workspace_id = a.workspace_id and r.automation_id = a.id
      and r.cause >= source || ${from} and r.cause < source || ${to}
    where a.workspace_id = ${workspaceId} and a.has_questions and r.has_questions and r.reason is distinct from 'limit_runs'`
  const counts = new Map<number, number>()
  for (const { cause } of runs) {
    const second = Math.floor(msOfId(cause.slice(cause.indexOf(':') + 1)) / 1000)
    counts.set(second, (counts.get(second) ?? 0) + 1)
  }
  return counts
}

/** Stores the runs. One that the same cause has started before is skipped. */
async function createRuns(
  sql: Sql,
  workspaceId: string,
  chosen: readonly Chosen[],
  times: DecideTimes,
): Promise<Run[]> {
  return insertRuns(
    sql,
    workspaceId,
    chosen.map(({ trigger, automation, reason }) => ({
      automation,
      cause: toCause(trigger),
      contact_id: trigger.contact_id,
      conversation_id: trigger.conversation_id,
      message_id: trigger.message_id,
      depth: trigger.depth,
      reason,
    })),
    times,
  )
}

export type NewRun = {
  automation: Pick<ActiveAutomation, 'id' | 'version' | 'has_questions'>
  cause: string
  contact_id: string
  /** Null: the newest conversation of the contact, if there is one. */
  conversation_id: string | null
  message_id: string | null
  depth: number
  /** Of a run that is over before it starts. */
  reason?: EndReason | undefined
}

/** Inserts runs, and leases them to this worker. The conversations of those with questions are locked. */
export async function insertRuns(
  sql: Sql,
  workspaceId: string,
  runs: readonly NewRun[],
  { leaseMs }: Pick<Times['automation'], 'leaseMs'>,
): Promise<Run[]> {
  if (runs.length === 0) return []
  const rows = runs.map(({ automation, reason, ...run }) => {
    const id = newId()
    const { id: automation_id, version, has_questions } = automation
    return { ...run, id, automation_id, version, has_questions, reason, send_id: newId(), started_at: timeOfId(id) }
  })
  return sql<Run[]>`
    with
    input as (
      select * from json_to_recordset(${JSON.stringify(rows)}::text::json) as i (
        id uuid, automation_id uuid, version int, contact_id uuid, conversation_id uuid, cause text, message_id uuid, depth smallint,
        has_questions boolean, reason text, send_id uuid, started_at timestamptz
      )
    ),
    inserted_runs as (
      insert into automation_runs as r (workspace_id, id, automation_id, version, contact_id, conversation_id, cause, message_id,
        depth, has_questions, state, reason, position, send_id, due_at, lease_id, leased_until, started_at, ended_at)
      select ${workspaceId}, i.id, i.automation_id, i.version, i.contact_id, coalesce(i.conversation_id, (
          select v.id from conversations v
          where v.workspace_id = ${workspaceId} and v.contact_id = i.contact_id
          order by v.last_message_at desc nulls last limit 1
        )), i.cause, i.message_id, i.depth, i.has_questions, case when i.reason is null then 'running' else 'ended' end, i.reason,
        ${firstPosition}, i.send_id, case when i.reason is null then now() end, case when i.reason is null then ${newId()}::uuid end,
        case when i.reason is null then now() + make_interval(secs => ${leaseMs / 1000}) end, i.started_at,
        case when i.reason is not null then now() end
      from input i
      order by i.id
      on conflict (workspace_id, automation_id, cause) do nothing
      returning ${runColumns(sql)}
    ),
    marked_conversations as (
      update conversations v set bot_run_id = r.id, updated_at = now()
      from inserted_runs r
      where v.workspace_id = r.workspace_id and v.id = r.conversation_id and r.has_questions and r.state <> 'ended'
    )
    select r.*, false as is_repeat from inserted_runs r where r.state <> 'ended' order by r.id`
}
