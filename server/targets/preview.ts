/** Which open conversations a target would put on the clock: for the page, while it is edited. */
import type { ClockKind } from '../automation/definition.ts'
import { clockKinds } from '../automation/definition.ts'
import { channels } from '../contacts/resource.ts'
import { type Fragment, plannedPerCall, type Sql } from '../lib/postgres/db.ts'
import { DateTime, NullableText, OneOf, type Static, Type, Uuid } from '../lib/schema.ts'
import { clocksOf, conditionOf, limitsOf, type StoredClock, type StoredTrack } from './clock-rows.ts'
import { readCount } from './clocks.ts'
import { applyChange, type Change, calendar, firstDue, follow, type TimeCount } from './policy.ts'
import { listTargets, positionOfNew, readTarget, type TargetInput } from './targets.ts'

/** Waiting customers that are read, the longest wait first. */
const maxRead = 1_000
const shown = 10

export const PreviewSchema = Type.Object({
  count: Type.Integer({
    description: `Open conversations whose clock would run now, among the ${maxRead} longest waits.`,
  }),
  overdue_count: Type.Integer({ description: 'Those that would be overdue.' }),
  has_more: Type.Boolean({ description: 'More customers wait than were read.' }),
  conversations: Type.Array(
    Type.Object({
      id: Uuid,
      contact_name: NullableText(),
      channel: OneOf(channels),
      waiting_since: DateTime,
      due_at: DateTime,
      due_kind: OneOf(clockKinds),
    }),
    { description: 'Those that are due first.' },
  ),
  taken_count: Type.Integer({
    description: `Open conversations that wait and match, and to which an earlier target applies, among ${maxRead}.`,
  }),
  taken_by: Type.Array(Type.String(), { description: 'The names of these targets, in their order.' }),
})
export type TargetPreview = Static<typeof PreviewSchema>

type Candidate = {
  id: string
  contact_name: string | null
  channel: TargetPreview['conversations'][number]['channel']
  waiting_since: string
  waiting_ms: number
  team_id: string | null
  connection_id: string | null
  has_replied: boolean
  track: StoredTrack | null
  clocks: StoredClock[]
  now_ms: number
}

/** `id`: of the target that is edited; a new one is where `createTarget` places it. `isVisible`: condition on conversation `v`. */
export async function previewTarget(
  sql: Sql,
  workspaceId: string,
  { id, ...input }: TargetInput & { id?: string | undefined },
  isVisible: Fragment,
): Promise<TargetPreview> {
  const target = readTarget(input)
  const all = await listTargets(sql, workspaceId)
  const edited = all.findIndex((one) => one.id === id?.toLowerCase())
  const editedId = all[edited]?.id ?? null
  const position = edited < 0 ? positionOfNew(all, target.conditions) : edited
  const earlier = all.slice(0, position).filter(({ is_active }) => is_active)
  const conditions = earlier.map((each) => conditionOf(sql, workspaceId, each.conditions))
  const matches = conditionOf(sql, workspaceId, target.conditions)
  const isFree = conditions.reduce((one, other) => sql`${one} and not ${other}`, matches)
  const isCandidate = sql`
    v.waiting_since is not null and v.status <> 'closed' and v.bot_run_id is null
    and v.episode_id is not null and ${isVisible}`
  const candidates = await sql<Candidate[]>`
    select w.id, c.name as contact_name, w.channel, w.waiting_since, (extract(epoch from w.waiting_since) * 1000)::float8 as waiting_ms,
      w.team_id, w.connection_id, w.episode_replies > 0 as has_replied, f.track,
      ${clocksOf(sql, workspaceId, sql`k.episode_id = w.episode_id and k.target_id = ${editedId}`)} as clocks,
      (extract(epoch from now()) * 1000)::float8 as now_ms
    from (
      select v.id, v.contact_id, v.channel, v.waiting_since, v.team_id, v.connection_id, v.episode_id, v.episode_replies
      from conversations v
      join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
      where v.workspace_id = ${workspaceId} and ${isCandidate} and ${plannedPerCall(sql, isFree)}
      order by v.waiting_since, v.id
      limit ${maxRead + 1}
    ) w
    join contacts c on c.workspace_id = ${workspaceId} and c.id = w.contact_id
    left join target_episodes f on f.workspace_id = ${workspaceId} and f.episode_id = w.episode_id`
  const whens = conditions.map((condition, i) => sql`when ${condition} then ${i}::integer`)
  const taken =
    whens.length === 0
      ? []
      : await sql<{ earlier: number; count: number }[]>`
          select w.earlier, count(*)::integer as count
          from (
            select case ${whens.reduce((one, other) => sql`${one} ${other}`)} end as earlier
            from conversations v
            join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
            where v.workspace_id = ${workspaceId} and ${isCandidate} and ${plannedPerCall(sql, sql`${matches} and not (${isFree})`)}
            limit ${maxRead}
          ) w
          group by w.earlier
          order by w.earlier`
  const counts = new Map<string, TimeCount>()
  const due: { row: Candidate; dueMs: number; kind: ClockKind }[] = []
  for (const row of candidates.slice(0, maxRead)) {
    const key = `${row.team_id} ${row.connection_id}`
    const count = target.is_office_time
      ? (counts.get(key) ?? (await readCount(sql, workspaceId, row.team_id, row.connection_id)))
      : calendar
    counts.set(key, count)
    const appliedMs = editedId && row.track?.targetId === editedId ? (row.track.appliedMs ?? null) : null
    const found = dueOf(row, { count, limitsMs: limitsOf(target), appliedMs })
    if (found) due.push({ row, ...found })
  }
  due.sort((one, other) => one.dueMs - other.dueMs)
  return {
    count: due.length,
    overdue_count: due.filter(({ dueMs, row }) => dueMs <= row.now_ms).length,
    has_more: candidates.length > maxRead,
    conversations: due.slice(0, shown).map(({ row: { id, contact_name, channel, waiting_since }, dueMs, kind }) => ({
      ...{ id, contact_name, channel, waiting_since, due_at: new Date(dueMs).toISOString(), due_kind: kind },
    })),
    taken_count: taken.reduce((sum, { count }) => sum + count, 0),
    taken_by: taken.flatMap(({ earlier: i }) => earlier[i]?.name ?? []),
  }
}

function dueOf(row: Candidate, times: Parameters<typeof follow>[2]): ReturnType<typeof firstDue> {
  const facts: Change = {
    ...{
      atMs: row.now_ms,
      isOpen: true,
      waitingSinceMs: row.waiting_ms,
      isWithBot: false,
      hasReplied: row.has_replied,
    },
  }
  const track = row.track ?? applyChange(undefined, facts)
  return firstDue(track, follow({ track, clocks: row.clocks }, [], times, row.now_ms).clocks)
}
