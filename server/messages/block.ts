/**
 * Blocking a contact on one connection.
 *
 * A block is stored first, then made at the channel, if it has such a call: the provider then passes on no messages. Without the call,
 * or if it fails, the service alone blocks: messages are stored, but do not reopen the conversation (`receiving/store-inbound.ts`).
 *
 * A block at the channel that the service does not know would lose messages. So unblocking calls the channel in any case, because the
 * outcome of a block may be unknown, and the stored block ends only after that.
 */
import type { BlockAnswer, Channel } from '../channels/channel.ts'
import { getConnectionById } from '../channels/connections.ts'
import type { ChannelName } from '../contacts/resource.ts'
import { closeEpisodes, episodeColumns, reopenEpisodes } from '../conversations/episodes/writing.ts'
import { type Actor, authorOf } from '../conversations/timeline.ts'
import type { Sealer } from '../lib/crypto.ts'
import { ApiError } from '../lib/errors.ts'
import { newId, timeOfId } from '../lib/id.ts'
import type { Db, Sql } from '../lib/postgres/db.ts'
import { peopleOf, requireThread } from './sending/target.ts'

export type BlockOptions = {
  db: Db
  sealer: Sealer
  channels: Record<ChannelName, Pick<Channel, 'setBlocked'>>
}

/**
 * Blocks the contact of a conversation on its channel, or ends it. A block closes the conversation, and its end restores the status,
 * unless the status was changed meanwhile.
 */
export async function setBlocked(
  { db, sealer, channels }: BlockOptions,
  workspaceId: string,
  actor: Actor,
  conversationId: string,
  isBlocked: boolean,
): Promise<void> {
  const thread = await requireThread(db, workspaceId, conversationId)
  if ((thread.blocked_at !== null) === isBlocked) return
  const channel = channels[thread.channel]
  const connection =
    thread.connection_id === null ? undefined : await getConnectionById(db, sealer, workspaceId, thread.connection_id)
  /** The outcome for each identity of the contact. None without a connection or such a call of the channel. */
  const callChannel = async (isOn: boolean): Promise<BlockAnswer[]> => {
    const answers: BlockAnswer[] = []
    if (!connection || !channel.setBlocked) return answers
    for (const person of peopleOf(thread)) answers.push(await channel.setBlocked(connection, person, isOn))
    return answers
  }
  if (!isBlocked) {
    requireUnblocked(thread.is_channel_blocked, await callChannel(false))
    await storeBlock(db, workspaceId, actor, conversationId, false)
    return
  }
  if (!(await storeBlock(db, workspaceId, actor, conversationId, true))) return
  const answers = await callChannel(true)
  if (!answers.some(({ ok }) => ok)) return
  const confirmed = await db`
    update conversations set is_channel_blocked = true, updated_at = now()
    where workspace_id = ${workspaceId} and id = ${conversationId} and blocked_at is not null
    returning id`
  // Another member ended the block meanwhile.
  if (confirmed.length === 0) await callChannel(false)
}

/** Throws 502 when the channel may still block the contact. It refuses an identity that it does not block. */
function requireUnblocked(isChannelBlocked: boolean, answers: readonly BlockAnswer[]): void {
  const failures = answers.flatMap((answer) => (answer.ok ? [] : [answer]))
  const isUnknown = failures.some(({ isRefused }) => !isRefused)
  if (!isUnknown && (!isChannelBlocked || failures.length < answers.length)) return
  const reason = failures[0]?.message ?? 'not connected'
  throw new ApiError('platform_error', `the channel did not unblock the contact: ${reason}`)
}

/** Returns false when another member did it meanwhile. */
function storeBlock(
  db: Db,
  workspaceId: string,
  actor: Actor,
  conversationId: string,
  isBlocked: boolean,
): Promise<boolean> {
  return db.begin(async (sql) => {
    // Locked first, so that the next statement reads the open episode as it is then.
    const [locked] = await sql`
      select from conversations
      where workspace_id = ${workspaceId} and id = ${conversationId} and (blocked_at is null) = ${isBlocked}
      for no key update`
    return locked !== undefined && writeBlock(sql, workspaceId, actor, conversationId, isBlocked)
  }) as Promise<boolean>
}

/** In a transaction that has locked the conversation. */
async function writeBlock(
  sql: Sql,
  workspaceId: string,
  actor: Actor,
  conversationId: string,
  isBlocked: boolean,
): Promise<boolean> {
  const { memberId, details } = authorOf(actor, conversationId)
  const id = newId()
  const changes = isBlocked
    ? sql`blocked_at = now(), status = 'closed', snoozed_until = null, unread_count = 0`
    : sql`blocked_at = null, is_channel_blocked = false, status = b.status_after`
  const statusAfter = isBlocked
    ? sql`'closed'`
    : sql`coalesce(
        (
          select case when e.kind = 'blocked' then e.details ->> 'status' end from timeline_entries e
          where e.workspace_id = ${workspaceId} and e.conversation_id = ${conversationId}
            and e.kind in ('blocked', 'status', 'snoozed')
          order by e.id desc
          limit 1
        ),
        v.status
      )`
  const stored = await sql`
    with
    -- The conversation before the change, and its status after it.
    before as (
      select v.workspace_id, v.id, v.status, v.assigned_agent_id, v.team_id, ${statusAfter} as status_after from conversations v
      where v.workspace_id = ${workspaceId} and v.id = ${conversationId}
    ),
    ${closeEpisodes(
      sql,
      sql`(select workspace_id, id, assigned_agent_id, team_id from before where status_after = 'closed' and status <> 'closed')`,
      {
        by: 'block',
        byId: memberId,
      },
    )},
    ${reopenEpisodes(sql, sql`(select workspace_id, id, assigned_agent_id from before where status_after <> 'closed' and status = 'closed')`)},
    changed_conversation as (
      update conversations v set ${changes}, ${episodeColumns(sql, sql`b.status_after = 'closed'`)}, updated_at = now()
      from before b
      left join reopened_episodes r on r.workspace_id = b.workspace_id and r.conversation_id = b.id
      where v.workspace_id = ${workspaceId} and v.id = b.id
      returning v.workspace_id, v.id,
        case when ${isBlocked} and b.status <> 'closed' then jsonb_build_object('status', b.status) else '{}' end
          as closed
    )
    insert into timeline_entries (workspace_id, conversation_id, id, kind, member_id, details, created_at)
    select workspace_id, id, ${id}, ${isBlocked ? 'blocked' : 'unblocked'}, ${memberId}::uuid,
      ${JSON.stringify(details)}::text::jsonb || closed, ${timeOfId(id)}
    from changed_conversation
    returning id`
  return stored.length > 0
}
