/**
 * The funnel of a broadcast over time: cumulative counts at points from the start to the last change.
 *
 * The counters are exact and have no times. The times are those of single recipients: of all of them, or of a large broadcast of
 * 2,000 at equal distances, so that a million take no longer. The counts are scaled to the counters: the last ones agree with them.
 */
import { nowMs } from '../lib/clock.ts'
import { msOfId } from '../lib/id.ts'
import type { Sql } from '../lib/postgres/db.ts'
import { type ResponseKind, responseKinds } from '../messages/status-follower.ts'
import { requireBroadcast } from './broadcasts.ts'
import type { RecipientStatus } from './counts.ts'

const steps = ['sent', 'delivered', 'read', ...responseKinds] as const
type Step = (typeof steps)[number]

type TimelinePoint = { at: string } & Record<Step, number>

const maxSampled = 2_000
const pointCount = 49
/** A channel reports whole seconds, and most broadcasts run for minutes. */
const minSpanMs = 60_000

export async function readTimeline(sql: Sql, workspaceId: string, id: string): Promise<TimelinePoint[]> {
  const broadcast = await requireBroadcast(sql, workspaceId, id)
  const { started_at, total_count: total, sent_count: sent } = broadcast
  if (started_at === null || sent === 0) return []
  const times = await readTimes(sql, workspaceId, broadcast.id, total)
  if (!times) return []
  const counts: Record<Step, number> = {
    sent,
    delivered: broadcast.delivered_count,
    read: broadcast.read_count,
    replied: broadcast.replied_count,
    tapped: broadcast.tapped_count,
    opted_out: broadcast.opted_out_count,
  }
  const fromMs = Date.parse(started_at)
  // While it is sending, the points go on until now.
  const lastMs = Math.max(...steps.map((step) => times[step].at(-1) ?? 0), broadcast.completed_at ? 0 : nowMs())
  const spanMs = Math.max(lastMs - fromMs, minSpanMs)
  return Array.from({ length: pointCount }, (_, i) => {
    const ms = fromMs + Math.ceil((spanMs * i) / (pointCount - 1))
    const countUntil = (step: Step) => Math.round(shareUntil(times[step], ms) * counts[step])
    const shown = Object.fromEntries(steps.map((step) => [step, countUntil(step)])) as Record<Step, number>
    return { at: new Date(ms).toISOString(), ...shown }
  })
}

/** The share of sorted times until this one. Without a time, all of them are there from the start. */
const shareUntil = (times: readonly number[], ms: number): number =>
  times.length === 0 ? 1 : (times.findLastIndex((time) => time <= ms) + 1) / times.length

/** Undefined for a broadcast of an earlier release, which stored no times. */
async function readTimes(
  sql: Sql,
  workspaceId: string,
  id: string,
  total: number,
): Promise<Record<Step, readonly number[]> | undefined> {
  const distance = Math.ceil(total / maxSampled)
  const recipients = await sql<
    { message_id: string | null; status: RecipientStatus; delivered_at: string | null; read_at: string | null }[]
  >`
    select r.message_id, r.status, r.delivered_at, r.read_at
    from generate_series(1, ${total}::int, ${distance}::int) as sampled (place)
    cross join lateral (
      select r.message_id, r.status, r.delivered_at, r.read_at from broadcast_recipients r
      where r.workspace_id = ${workspaceId} and r.broadcast_id = ${id} and r.place = sampled.place
        and r.status in ('sent', 'delivered', 'read')
      limit 1
    ) r`
  if (recipients.some(({ status, delivered_at }) => status !== 'sent' && delivered_at === null)) return undefined
  // The first response of each kind from every sampled place to the next one: responses are rare.
  const responses = await sql<{ kind: ResponseKind; at: string }[]>`
    select k.kind, r.at
    from unnest(${[...responseKinds]}::text[]) as k (kind)
    cross join generate_series(1, ${total}::int, ${distance}::int) as sampled (place)
    cross join lateral (
      select r.at from broadcast_responses r
      where r.workspace_id = ${workspaceId} and r.broadcast_id = ${id} and r.kind = k.kind
        and r.place >= sampled.place and r.place < sampled.place + ${distance}::int
      order by r.place
      limit 1
    ) r`
  const sorted = (times: (number | null)[]) => times.filter((time) => time !== null).sort((one, other) => one - other)
  const msOf = (time: string | null) => (time === null ? null : Date.parse(time))
  const responsesOf = (kind: ResponseKind) => responses.flatMap((each) => (each.kind === kind ? [msOf(each.at)] : []))
  return {
    // An erased recipient has no message.
    sent: sorted(recipients.map(({ message_id }) => (message_id === null ? null : msOfId(message_id)))),
    delivered: sorted(recipients.map(({ delivered_at }) => msOf(delivered_at))),
    read: sorted(recipients.map(({ read_at }) => msOf(read_at))),
    replied: sorted(responsesOf('replied')),
    tapped: sorted(responsesOf('tapped')),
    opted_out: sorted(responsesOf('opted_out')),
  }
}
