/**
 * Account signals: reports of a provider about a connection's account, which members see on the channel's card.
 *
 * A signal has a key for what it is about, and the latest signal of a key replaces the one before. So the list is the current
 * state and not a log. It holds 20 signals; the least severe and oldest are dropped first. A member can dismiss a signal.
 */
import { nowMs } from '../lib/clock.ts'
import { notFound } from '../lib/errors.ts'
import { isUuid } from '../lib/id.ts'
import type { Sql } from '../lib/postgres/db.ts'
import { type AccountSignal, type Connection, type Severity, severities } from './channel.ts'

export type StoredAccountSignal = Omit<AccountSignal, 'severity'> & { severity: Severity }

const maxSignals = 20
/** A repeated signal is written at most this often: messages for another number may arrive many times a second. */
const repeatSeconds = 30

export async function recordAccountSignal(
  sql: Sql,
  { workspace_id, id }: Pick<Connection, 'workspace_id' | 'id'>,
  { key, severity, text, at, expires_at }: AccountSignal,
): Promise<void> {
  const isResolved = severity === 'resolved'
  const added = isResolved ? [] : [{ key, severity, text, at, expires_at }]
  await sql`
    update channel_connections c set signals = (
      select coalesce(jsonb_agg(kept.signal), '[]')
      from (
        select s.signal
        from jsonb_array_elements(c.signals || ${JSON.stringify(added)}::text::jsonb) with ordinality as s (signal, position)
        where s.signal->>'key' <> ${key} or s.position > jsonb_array_length(c.signals)
        order by array_position(${[...severities]}::text[], s.signal->>'severity'), s.signal->>'at' desc,
          -- Times are whole seconds. Within the same second the new signal is the newest.
          s.position > jsonb_array_length(c.signals) desc, s.position
        limit ${maxSignals}
      ) kept
    )
    where c.workspace_id = ${workspace_id} and c.id = ${id}
      and (not ${isResolved} or exists (
        select from jsonb_array_elements(c.signals) s where s->>'key' = ${key}
      ))
      -- Skips a signal that is older than the stored one, or that repeats it within seconds.
      and not exists (
        select from jsonb_array_elements(c.signals) s
        where s->>'key' = ${key} and ((s->>'at')::timestamptz > ${at}::timestamptz
          or s->>'text' = ${text} and s->>'severity' = ${severity} and s->>'expires_at' is not distinct from ${expires_at}
            and (s->>'at')::timestamptz > ${at}::timestamptz - make_interval(secs => ${repeatSeconds}))
      )`
}

/** Removes the signal that the member saw. One that was reported again since has another time and stays. */
export async function dismissAccountSignal(
  sql: Sql,
  workspaceId: string,
  connectionId: string,
  { key, at }: Pick<AccountSignal, 'key' | 'at'>,
): Promise<void> {
  const { count } = isUuid(connectionId)
    ? await sql`
        update channel_connections c set signals = (
          select coalesce(jsonb_agg(s.signal order by s.position), '[]')
          from jsonb_array_elements(c.signals) with ordinality as s (signal, position)
          where s.signal->>'key' <> ${key} or s.signal->>'at' <> ${at}
        )
        where c.workspace_id = ${workspaceId} and c.id = ${connectionId}`
    : { count: 0 }
  if (count === 0) throw notFound('channel')
}

/** The signals that have not expired. */
export const currentAccountSignals = (signals: readonly StoredAccountSignal[], now = nowMs()): StoredAccountSignal[] =>
  signals.filter(({ expires_at }) => expires_at === null || Date.parse(expires_at) > now)
