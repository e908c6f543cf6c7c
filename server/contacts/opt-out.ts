/**
 * Opting out: whether somebody wants no broadcasts any more.
 *
 * The customer says so by a word, the channel by a preference, a member by a
 * switch. The later decision holds, by the channel's time: what is reported
 * late does not undo what was decided since. Of two in one second, as exactly
 * as channels tell the time, the one that came later holds.
 */
import type { OptOutRequest } from '../accounts/opt-out-words.ts'
import type { Fragment, Sql } from '../lib/db.ts'

export const deciders = ['customer', 'channel', 'member'] as const

export type Decision = {
  workspace_id: string
  contact_id: string
  wish: OptOutRequest
  by: 'customer' | 'channel'
  at: string
  /** The message that said so, if one did. */
  message_id: string | null
}

/** Enter what people decided, in the order in which it came. */
export async function applyDecisions(sql: Sql, decisions: readonly Decision[]): Promise<void> {
  await sql`with ${deciding(sql, decisions, sql`true`)} select from decided`
}

/** Members of a `with` list: enter those of the decisions `d` that meet a condition. */
export function deciding(sql: Sql, decisions: readonly Decision[], condition: Fragment): Fragment {
  const rows = decisions.map((decision, place) => ({ ...decision, place }))
  // A time to come would hold against whatever is decided until then.
  const at = sql`date_trunc('second', least(d.at, now()))`
  return sql`
    decisions as (
      select distinct on (d.workspace_id, d.contact_id)
        d.workspace_id, d.contact_id, d.wish, d.by, ${at} as at
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as d (
        place int, workspace_id uuid, contact_id uuid, wish text, by text, at timestamptz, message_id uuid
      )
      where ${condition}
      order by d.workspace_id, d.contact_id, ${at} desc, d.place desc
    ),
    -- In order, so that two batches with the same people take turns.
    undecided as (
      select c.workspace_id, c.id, d.wish, d.by, d.at
      from decisions d join contacts c on c.workspace_id = d.workspace_id and c.id = d.contact_id
      order by c.workspace_id, c.id
      for no key update of c
    ),
    decided as (
      update contacts c set
        opted_out_at = case when u.wish = 'stop' then u.at end,
        opted_out_by = case when u.wish = 'stop' then u.by end,
        opt_out_decided_at = u.at,
        updated_at = now()
      from undecided u
      where c.workspace_id = u.workspace_id and c.id = u.id
        and (c.opt_out_decided_at is null or c.opt_out_decided_at <= u.at)
      returning c.id
    )`
}

/**
 * A member's switch. One that is set already stays as it is, with who set it. The decision falls at the begin of its
 * second: what the customer writes in the rest of that second comes after it, and channels tell whole seconds.
 */
export async function switchOptOut(sql: Sql, workspaceId: string, id: string, isOut: boolean): Promise<void> {
  await sql`
    update contacts set
      opted_out_at = case when ${isOut} then now() end,
      opted_out_by = case when ${isOut} then 'member' end,
      opt_out_decided_at = date_trunc('second', now())
    where workspace_id = ${workspaceId} and id = ${id} and (opted_out_at is not null) <> ${isOut}`
}
