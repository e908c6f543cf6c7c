/**
 * The dry run of an automation: which conversations of the last days it would have touched, and what it would have done.
 *
 * It changes nothing and sends nothing: it reads through the pool for slow reads, whose connections PostgreSQL holds read-only, and
 * replays the past in memory (`replay.ts`). The work is bounded: so many conversations, so many events of each, and a deadline. It reads
 * in chunks that wait their turn among the slow reads of all workspaces, lets other requests run in between, and one workspace has one
 * dry run at a time per process.
 */
import type { Times } from '../../../common/times.ts'
import type { Channel } from '../../channels/channel.ts'
import type { ChannelName } from '../../contacts/resource.ts'
import { nowMs } from '../../lib/clock.ts'
import { ApiError, badRequest } from '../../lib/errors.ts'
import type { Sql } from '../../lib/postgres/db.ts'
import type { SlowReads } from '../../lib/postgres/slow-reads.ts'
import { createYielder } from '../../lib/time.ts'
import { requireAutomation } from '../automations.ts'
import type { Definition } from '../definition.ts'
import { toMs } from '../durations.ts'
import { automationFields } from '../fields.ts'
import { parseDefinition } from '../parse.ts'
import { listFacts } from './conditions.ts'
import {
  type Candidate,
  listConversations,
  listCreated,
  type PastThread,
  type Reading,
  readSetting,
  readThreads,
} from './history.ts'
import { listNotes } from './notes.ts'
import { type Plan, replay } from './replay.ts'
import type { DryRun, DryRunRun } from './resource.ts'
import type { SimulatedRun } from './walk.ts'

export const maxDays = 7
const dayMs = 86_400_000

/** Conversations that are read, the newest changes first. */
const maxConversations = 5_000
/** Conversations per read. */
const chunkSize = 20
/** The dry run stops after this time, with what it has. */
const deadlineMs = 10_000
/** Runs in the answer, and their texts. */
const maxRuns = 200
const maxCharacters = 1_000_000

export type DryRunOptions = {
  db: Sql
  slow: SlowReads
  channels: Record<ChannelName, Pick<Channel, 'windowMs' | 'lateWindowMs'>>
  times: Pick<Times['automation'], 'togetherMs'>
}

type DryRunInput = { definition?: unknown; days?: number | undefined }

export type DryRunner = (workspaceId: string, automationId: string, input: DryRunInput) => Promise<DryRun>

export function createDryRunner(options: DryRunOptions): DryRunner {
  const running = new Set<string>()
  return async (workspaceId, automationId, input) => {
    const { db } = options
    const automation = await requireAutomation(db, workspaceId, automationId)
    const { definition, source } = chooseDefinition(automation, input)
    requireTriable(definition)
    if (running.has(workspaceId)) throw tooMany()
    running.add(workspaceId)
    try {
      return await run(options, workspaceId, {
        automationId: automation.id,
        definition,
        source,
        days: input.days ?? maxDays,
      })
    } finally {
      running.delete(workspaceId)
    }
  }
}

const tooMany = (): ApiError =>
  new ApiError('rate_limited', 'a dry run of this workspace is in progress; try again in 5 s', { 'retry-after': '5' })

type Tried = { definition: Definition; source: DryRun['source'] }

/** What is tried: the definition of the caller, else the draft, else the published version. */
function chooseDefinition({ draft, definition }: { draft: unknown; definition: unknown }, input: DryRunInput): Tried {
  const sources = { definition: input.definition, draft: draft ?? undefined, version: definition ?? undefined }
  const source = (['definition', 'draft', 'version'] as const).find((name) => sources[name] !== undefined)
  if (!source) throw badRequest('definition: the automation has none to try')
  // What a stored one refers to may have changed.
  return { definition: parseDefinition(sources[source], automationFields), source }
}

/** Throws 400 for a trigger whose changes are not stored. */
function requireTriable({ trigger }: Definition): void {
  if (trigger.type === 'manual') {
    throw badRequest('trigger.type: an automation that is started by hand has no past to try it on')
  }
  if (trigger.type === 'target') {
    throw badRequest('trigger.type: the past clocks of targets are not stored, so there is no past to try it on')
  }
  if (trigger.type === 'rating') throw badRequest('trigger.type: ratings of the past cannot be tried')
  if (trigger.type === 'contact' && trigger.event !== 'created') {
    const what = trigger.event === 'attribute_changed' ? 'attributes were changed' : 'tags were added or removed'
    throw badRequest(`trigger.event: it is not stored when ${what}, so there is no past to try it on`)
  }
}

type Work = Tried & { automationId: string; days: number }

async function run(
  options: DryRunOptions,
  workspaceId: string,
  { automationId, definition, source, days }: Work,
): Promise<DryRun> {
  const { slow, channels, times } = options
  const deadline = performance.now() + deadlineMs
  const untilMs = nowMs()
  const fromMs = untilMs - days * dayMs
  const read = <Result>(statements: (sql: Sql) => Promise<Result>) =>
    slow(workspaceId, statements, { field: 'days', text: 'try fewer days' })
  const { trigger } = definition
  const setting = await read((sql) => readSetting(sql, workspaceId, definition))
  const { memberNames, teamNames, names, optOutWords, schedules } = setting
  const reading: Reading = {
    ...{ automationId, optOutWords, schedules, fromMs: fromMs - lookBackMs(definition, channels), toMs: untilMs },
    ...{ rules: listFacts(definition), needsCreation: trigger.type === 'contact' },
    needsFirst: trigger.type === 'message' && trigger.when === 'first',
  }
  const list = trigger.type === 'contact' ? listCreated : listConversations
  const found = await read((sql) => list(sql, workspaceId, reading, maxConversations + 1))
  const candidates = found.slice(0, maxConversations)
  const plan: Plan = {
    ...{ definition, channels, memberNames, teamNames, names },
    ...{ fromMs, toMs: untilMs, togetherMs: times.togetherMs },
  }
  const result = createResult()
  let readCount = 0
  let hasAllEvents = true
  for (; readCount < candidates.length && performance.now() < deadline; readCount += chunkSize) {
    const chunk = candidates.slice(readCount, readCount + chunkSize)
    const threads = await read((sql) => readThreads(sql, workspaceId, chunk, reading))
    for (const thread of threads) {
      hasAllEvents &&= thread.isComplete
      result.add(thread, await replayThread(plan, thread, deadline))
    }
  }
  const hasAll = found.length <= maxConversations && readCount >= candidates.length && performance.now() < deadline
  const conversationCount = Math.min(readCount, candidates.length)
  const { counts, runs } = result.read()
  return {
    ...{ source, since: new Date(fromMs).toISOString(), until: new Date(untilMs).toISOString(), counts },
    ...{ conversation_count: conversationCount, is_complete: hasAll && hasAllEvents },
    notes: [
      ...(hasAll
        ? []
        : [
            `There is more than can be read at once: only the ${conversationCount} conversations with the newest changes are part of this.`,
          ]),
      ...(hasAllEvents
        ? []
        : ['Of conversations with very many messages or changes only the newest are part of this.']),
      ...(counts.runs > runs.length ? [`Only the newest ${runs.length} runs are listed. The counts are of all.`] : []),
      ...listNotes(definition),
    ],
    runs,
  }
}

/** The silence before the period that may lead to a run in it. */
function lookBackMs({ trigger }: Definition, channels: DryRunOptions['channels']): number {
  if (trigger.type !== 'silence') return 0
  const windows = Object.values(channels).map(({ windowMs }) => windowMs ?? 0)
  return trigger.event === 'window_ends' ? Math.max(...windows) : toMs(trigger.after)
}

async function replayThread(plan: Plan, thread: PastThread, deadline: number): Promise<SimulatedRun[]> {
  const yieldIfLong = createYielder()
  const steps = replay(plan, thread)
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
    await yieldIfLong()
    if (performance.now() > deadline) return []
  }
}

/** Counts all runs and keeps the newest. */
function createResult() {
  const counts: DryRun['counts'] = {
    ...{ runs: 0, conversations: 0, messages: 0, open: 0, finished: 0, handed_over: 0, person: 0, timeout: 0 },
    ...{ opted_out: 0, failed: 0, limit_messages: 0, limit_chain: 0, call: 0 },
  }
  let newest: DryRunRun[] = []
  const keepNewest = () => {
    newest = newest.sort((one, other) => (one.started_at < other.started_at ? 1 : -1)).slice(0, maxRuns)
  }
  return {
    add(thread: Candidate & Pick<PastThread, 'contact_name'>, runs: readonly SimulatedRun[]): void {
      if (runs.length > 0) counts.conversations++
      for (const run of runs) {
        counts.runs++
        counts.messages += run.sentCount
        counts[run.reason ?? 'open']++
        newest.push(toRun(thread, run))
      }
      if (newest.length > 2 * maxRuns) keepNewest()
    },
    read(): { counts: DryRun['counts']; runs: DryRunRun[] } {
      keepNewest()
      let size = 0
      const isSmall = (run: DryRunRun) => {
        size += sizeOf(run)
        return size <= maxCharacters
      }
      return { counts, runs: newest.filter(isSmall) }
    },
  }
}

const sizeOf = ({ steps }: DryRunRun): number =>
  steps.reduce((size, { text, input }) => size + (text?.length ?? 0) + (input?.length ?? 0) + 200, 200)

function toRun(
  { contact_id, contact_name, conversation_id }: Candidate & Pick<PastThread, 'contact_name'>,
  run: SimulatedRun,
): DryRunRun {
  return {
    ...{ contact_id, contact_name, conversation_id },
    ...{ message_id: run.message?.id ?? null, message_text: run.message?.text ?? null },
    started_at: new Date(run.startedMs).toISOString(),
    ended_at: run.endedMs === null ? null : new Date(run.endedMs).toISOString(),
    ...{
      reason: run.reason,
      error: run.error,
      answers: { ...run.variables },
      message_count: run.sentCount,
      steps: run.steps,
    },
  }
}
