/** Automations that react before a breach: how many minutes, for which targets and clocks. */

import { listActive } from '../automation/active.ts'
import type { ClockKind } from '../automation/definition.ts'
import { toMs } from '../automation/durations.ts'
import type { Sql } from '../lib/postgres/db.ts'

/** `target` and `kind`: absent for all. `publishedMs`: it reacts to what happens later. */
export type Reminder = { minutes: number; target: string | undefined; kind: ClockKind | undefined; publishedMs: number }

export async function listReminders(sql: Sql, workspaceId: string): Promise<Reminder[]> {
  const published = await sql<{ id: string; published_ms: number }[]>`
    select id, (extract(epoch from checked_until) * 1000)::float8 as published_ms from automations
    where workspace_id = ${workspaceId} and state = 'active' and kind = 'target'`
  if (published.length === 0) return []
  const active = await listActive(sql, workspaceId)
  return published.flatMap(({ id, published_ms: publishedMs }) => {
    const trigger = active.find((one) => one.id === id)?.definition.trigger
    if (trigger?.type !== 'target' || trigger.event !== 'due' || trigger.before === undefined) return []
    return [{ minutes: toMs(trigger.before) / 60_000, target: trigger.target, kind: trigger.clock, publishedMs }]
  })
}

type ClockTimes = { dueMs: number; nowMs: number; sinceMs: number; editedMs: number }

/**
 * The reminders of a running clock that are due now, and when the next one is. One is quiet if its moment and the clock are from before
 * the automation was published or the target was edited. A clock that starts with less time left is reminded at once.
 */
export function toRemind(
  reminders: readonly Reminder[],
  reminded: readonly number[],
  { dueMs, nowMs, sinceMs, editedMs }: ClockTimes,
): { now: { minutes: number; isQuiet: boolean }[]; nextMs: number } {
  const open = new Map<number, number>()
  for (const { minutes, publishedMs } of reminders) {
    if (!reminded.includes(minutes)) open.set(minutes, Math.min(publishedMs, open.get(minutes) ?? Infinity))
  }
  const moments = [...open].map(([minutes, publishedMs]) => ({ minutes, publishedMs, atMs: dueMs - minutes * 60_000 }))
  return {
    now: moments
      .filter(({ atMs }) => atMs <= nowMs)
      .map(({ minutes, publishedMs, atMs }) => ({
        minutes,
        isQuiet: Math.max(atMs, sinceMs) < Math.max(publishedMs, editedMs),
      })),
    nextMs: Math.min(Infinity, ...moments.filter(({ atMs }) => atMs > nowMs).map(({ atMs }) => atMs)),
  }
}
