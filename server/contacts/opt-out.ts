/**
 * Opting out of broadcasts.
 *
 * A customer decides with a word in a message, the channel with a preference, a member with a switch, a caller of
 * the API with a field. The latest decision by
 * the channel's time wins, so a late report does not undo a newer decision. Channels report whole seconds: of two decisions
 * in the same second the one that arrived later wins.
 */
import type { OptOutRequest } from '../accounts/opt-out-words.ts'
import type { Fragment, Sql } from '../lib/postgres/db.ts'

export const deciders = ['customer', 'channel', 'member', 'api'] as const
export type Decider = (typeof deciders)[number]

/** Deciders whose decision is a value of the contact, not a report of the channel. */
export type Setter = 'member' | 'api'

export type Decision = {
  workspace_id: string
  contact_id: string
  wish: OptOutRequest
  by: 'customer' | 'channel'
  at: string
  /** The message with the decision, if there is one. */
  message_id: string | null
}

/**
 * Applies decisions, in the order in which they arrived. Returns the ids of the contacts that exist. `further`: members of the
 * `with` list, with a comma before them, which may read `updated_contacts`.
 */
export async function applyDecisions(
  sql: Sql,
  decisions: readonly Decision[],
  further: Fragment = sql``,
): Promise<Set<string>> {
  const locked = await sql<{ id: string }[]>`
    with ${recordDecisions(sql, decisions, sql`true`)}${further} select id from locked_contacts`
  return new Set(locked.map(({ id }) => id))
}

/** Members of a `with` list: apply the decisions `d` that meet a condition. */
export function recordDecisions(sql: Sql, decisions: readonly Decision[], condition: Fragment): Fragment {
  const rows = decisions.map((decision, position) => ({ ...decision, position }))
  // A time in the future would win against all decisions until then.
  const at = sql`date_trunc('second', least(d.at, now()))`
  return sql`
    -- The latest decision of each contact.
    latest_decisions as (
      select distinct on (d.workspace_id, d.contact_id)
        d.workspace_id, d.contact_id, d.wish, d.by, ${at} as at
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as d (
        position int, workspace_id uuid, contact_id uuid, wish text, by text, at timestamptz, message_id uuid
      )
      where ${condition}
      order by d.workspace_id, d.contact_id, ${at} desc, d.position desc
    ),
    -- Their contacts, locked in order, so that two batches cannot deadlock (lock order: ARCHITECTURE.md).
    locked_contacts as (
      select c.workspace_id, c.id, d.wish, d.by, d.at
      from latest_decisions d join contacts c on c.workspace_id = d.workspace_id and c.id = d.contact_id
      order by c.workspace_id, c.id
      for no key update of c
    ),
    -- Contacts without a later decision.
    updated_contacts as (
      update contacts c set
        opted_out_at = case when u.wish = 'stop' then u.at end,
        opted_out_by = case when u.wish = 'stop' then u.by end,
        opt_out_decided_at = u.at,
        updated_at = clock_timestamp()
      from locked_contacts u
      where c.workspace_id = u.workspace_id and c.id = u.id
        and (c.opt_out_decided_at is null or c.opt_out_decided_at <= u.at)
      returning c.workspace_id, c.id, c.opted_out_at is not null as is_opted_out
    )`
}

/**
 * The switch of a member or the field of the API. A contact that is already in this state stays unchanged, with its `opted_out_by`. The decision counts
 * from the start of its second, so that a message of the customer in the same second wins: channels report whole seconds.
 */
export async function setOptOut(sql: Sql, workspaceId: string, id: string, isOut: boolean, by: Setter): Promise<void> {
  await sql`
    update contacts set
      opted_out_at = case when ${isOut} then now() end,
      opted_out_by = case when ${isOut} then ${by}::text end,
      opt_out_decided_at = date_trunc('second', now())
    where workspace_id = ${workspaceId} and id = ${id} and (opted_out_at is not null) <> ${isOut}`
}

/** The columns `opted_out_at`, `opted_out_by` and `opt_out_decided_at` of a new contact. */
export const newOptOut = (sql: Sql, isOut: Fragment, by: Setter): Fragment => sql`
  case when ${isOut} then now() end, case when ${isOut} then ${by}::text end,
  case when ${isOut} then date_trunc('second', now()) end`
