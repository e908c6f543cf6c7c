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

const steps = ['sent', 'delivered', 'read', ...responseKinds] as const
type Step = (typeof steps)[number]

type TimelinePoint = { at: string } & Record<Step, number>

const maxSampled = 2_000
const maxResponses = 20_000
const pointCount = 49
/** A channel reports whole seconds, and most broadcasts run for minutes. */
const minSpanMs = 60_000

export async function readTimeline(sql: Sql, workspaceId: string, id: string): Promise<TimelinePoint[]> {
  const broadcast = await requireBroadcast(sql, workspaceId, id)
  const { started_at, total_count: total, sent_count: sent } = broadcast
  if (started_at === null || sent === 0) return []
  const times = await readTimes(sql, workspaceId, broadcast.id, total)
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
    const countOf = (step: Step) => Math.round(shareUntil(times[step], ms) * counts[step])
    return { at: new Date(ms).toISOString(), ...recordOf(countOf) }
  })
}

const recordOf = <Value>(read: (step: Step) => Value): Record<Step, Value> => ({
  sent: read('sent'),
  delivered: read('delivered'),
  read: read('read'),
  replied: read('replied'),
  tapped: read('tapped'),
  opted_out: read('opted_out'),
})

/** The share of sorted times until this one. */
const shareUntil = (times: readonly number[], ms: number): number =>
  times.length === 0 ? 0 : times.filter((time) => time <= ms).length / times.length

async function readTimes(
  sql: Sql,
  workspaceId: string,
  id: string,
  total: number,
): Promise<Record<Step, readonly number[]>> {
  const recipients = await sql<{ message_id: string; delivered_at: string | null; read_at: string | null }[]>`
    select r.message_id, r.delivered_at, r.read_at
    from generate_series(1, ${total}::int, ${Math.ceil(total / maxSampled)}::int) as sampled (place)
    cross join lateral (
      select r.message_id, r.delivered_at, r.read_at from broadcast_recipients r
      where r.workspace_id = ${workspaceId} and r.broadcast_id = ${id} and r.place = sampled.place
        and r.message_id is not null and r.status in ('sent', 'delivered', 'read')
      limit 1
    ) r`
  const responses = await sql<{ kind: ResponseKind; at: string }[]>`
    select k.kind, r.at
    from unnest(${[...responseKinds]}::text[]) as k (kind)
    cross join lateral (
      select at from broadcast_responses
      where workspace_id = ${workspaceId} and broadcast_id = ${id} and kind = k.kind
      limit ${maxResponses}
    ) r`
  const sorted = (times: (number | null)[]) => times.filter((time) => time !== null).sort((one, other) => one - other)
  const msOf = (time: string | null) => (time === null ? null : Date.parse(time))
  const responsesOf = (kind: ResponseKind) => responses.flatMap((each) => (each.kind === kind ? [msOf(each.at)] : []))
  return {
    sent: sorted(recipients.map(({ message_id }) => msOfId(message_id))),
    delivered: sorted(recipients.map(({ delivered_at }) => msOf(delivered_at))),
    read: sorted(recipients.map(({ read_at }) => msOf(read_at))),
    replied: sorted(responsesOf('replied')),
    tapped: sorted(responsesOf('tapped')),
    opted_out: sorted(responsesOf('opted_out')),
  }
}
