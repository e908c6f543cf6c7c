/**
 * Signals: what a provider reported about a connection's account, for members to see on the channel's card.
 *
 * Each has a key that names its subject, and the latest of a key replaces the one before, so the list is the current state
 * and not a log. It is bounded: the mildest and oldest go first. A member dismisses what is settled.
 */
import { nowMs } from '../lib/clock.ts'
import type { Sql } from '../lib/db.ts'
import { notFound } from '../lib/errors.ts'
import { isUuid } from '../lib/id.ts'
import { type Connection, type Severity, type Signal, severities } from './channel.ts'

export type StoredSignal = Omit<Signal, 'severity'> & { severity: Severity }

const maxSignals = 20
/** The same signal again is written at most this often: messages for another number may arrive many times a second. */
const repeatSeconds = 30

export async function noteSignal(
  sql: Sql,
  { workspace_id, id }: Pick<Connection, 'workspace_id' | 'id'>,
  { key, severity, text, at, expires_at }: Signal,
): Promise<void> {
  const isResolved = severity === 'resolved'
  const noted = isResolved ? [] : [{ key, severity, text, at, expires_at }]
  await sql`
    update channel_connections c set signals = (
      select coalesce(jsonb_agg(kept.signal), '[]')
      from (
        select s.signal
        from jsonb_array_elements(c.signals || ${JSON.stringify(noted)}::text::jsonb) with ordinality as s (signal, place)
        where s.signal->>'key' <> ${key} or s.place > jsonb_array_length(c.signals)
        order by array_position(${[...severities]}::text[], s.signal->>'severity'), s.signal->>'at' desc,
          -- Times are whole seconds: of the same second, the one just reported is the newest.
          s.place > jsonb_array_length(c.signals) desc, s.place
        limit ${maxSignals}
      ) kept
    )
    where c.workspace_id = ${workspace_id} and c.id = ${id}
      and (not ${isResolved} or exists (
        select from jsonb_array_elements(c.signals) s where s->>'key' = ${key}
      ))
      -- A late one says nothing new, nor does the same one a moment later.
      and not exists (
        select from jsonb_array_elements(c.signals) s
        where s->>'key' = ${key} and ((s->>'at')::timestamptz > ${at}::timestamptz
          or s->>'text' = ${text} and s->>'severity' = ${severity} and s->>'expires_at' is not distinct from ${expires_at}
            and (s->>'at')::timestamptz > ${at}::timestamptz - make_interval(secs => ${repeatSeconds}))
      )`
}

/** Remove a signal as the member saw it. One that was reported again since then has another time, and stays. */
export async function dismissSignal(
  sql: Sql,
  workspaceId: string,
  connectionId: string,
  { key, at }: Pick<Signal, 'key' | 'at'>,
): Promise<void> {
  const { count } = isUuid(connectionId)
    ? await sql`
        update channel_connections c set signals = (
          select coalesce(jsonb_agg(s.signal order by s.place), '[]')
          from jsonb_array_elements(c.signals) with ordinality as s (signal, place)
          where s.signal->>'key' <> ${key} or s.signal->>'at' <> ${at}
        )
        where c.workspace_id = ${workspaceId} and c.id = ${connectionId}`
    : { count: 0 }
  if (count === 0) throw notFound('channel')
}

/** Those that have not ended by themselves. */
export const currentSignals = (signals: readonly StoredSignal[], now = nowMs()): StoredSignal[] =>
  signals.filter(({ expires_at }) => expires_at === null || Date.parse(expires_at) > now)
