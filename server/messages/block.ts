/**
 * Blocking a contact on one channel.
 *
 * The channel's own call comes first: the provider then passes on no messages. A channel without such a call, or one that refuses it,
 * leaves the block to the service: messages are stored, but do not reopen the conversation (`receiving/store-inbound.ts`).
 */
import type { Channel } from '../channels/channel.ts'
import { getConnection } from '../channels/connections.ts'
import type { ChannelName } from '../contacts/resource.ts'
import { type Actor, authorOf } from '../conversations/timeline.ts'
import type { Sealer } from '../lib/crypto.ts'
import { ApiError } from '../lib/errors.ts'
import { newId, timeOfId } from '../lib/id.ts'
import type { Db } from '../lib/postgres/db.ts'
import { personOf, requireThread } from './sending/target.ts'

export type BlockOptions = {
  db: Db
  sealer: Sealer
  channels: Record<ChannelName, Pick<Channel, 'setBlocked'>>
}

/** Blocks the contact of a conversation on its channel, or ends it. A block closes the conversation. */
export async function setBlocked(
  { db, sealer, channels }: BlockOptions,
  workspaceId: string,
  actor: Actor,
  conversationId: string,
  isBlocked: boolean,
): Promise<void> {
  const thread = await requireThread(db, workspaceId, conversationId)
  if ((thread.blocked_at !== null) === isBlocked) return
  const needsChannel = isBlocked || thread.is_channel_blocked
  const person = personOf(thread)
  const connection = needsChannel ? await getConnection(db, sealer, workspaceId, thread.channel) : undefined
  const answer = connection && person && (await channels[thread.channel].setBlocked?.(connection, person, isBlocked))
  if (!isBlocked && thread.is_channel_blocked && !answer?.ok) {
    throw new ApiError(
      'platform_error',
      `the channel did not unblock the contact: ${answer?.message ?? 'not connected'}`,
    )
  }
  const { memberId, details } = authorOf(actor)
  const id = newId()
  await db`
    with
    -- Unless another member did it meanwhile.
    changed_conversation as (
      update conversations v set
        blocked_at = ${isBlocked ? db`now()` : db`null`},
        is_channel_blocked = ${isBlocked && answer?.ok === true},
        status = ${isBlocked ? db`'closed'` : db`v.status`},
        snoozed_until = ${isBlocked ? db`null` : db`v.snoozed_until`},
        unread_count = ${isBlocked ? db`0` : db`v.unread_count`},
        updated_at = now()
      where v.workspace_id = ${workspaceId} and v.id = ${conversationId} and (v.blocked_at is null) = ${isBlocked}
      returning v.workspace_id, v.id
    )
    insert into timeline_entries (workspace_id, conversation_id, id, kind, member_id, details, created_at)
    select workspace_id, id, ${id}, ${isBlocked ? 'blocked' : 'unblocked'}, ${memberId}::uuid,
      ${JSON.stringify(details)}::text::jsonb, ${timeOfId(id)}
    from changed_conversation`
}
