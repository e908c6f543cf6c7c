/**
 * Echoes: messages of the business, reported back by the channel. Most are our
 * own sends, reported before or after the response to the send; the others were
 * written in the provider's own app and are stored in the conversation, with
 * their media.
 */
import type { Report } from '../channels/channel.ts'
import type { ChannelName } from '../contacts/contacts.ts'
import { resolveThreads } from '../conversations/threads.ts'
import type { Db } from '../lib/db.ts'
import { newId, timeOfId } from '../lib/id.ts'
import { echoPatienceSeconds, waitForMessage } from './early-reports.ts'
import { toMediaColumns } from './inbound.ts'
import { countOutcomes } from './outcomes.ts'
import { followStatus, type StatusFollower } from './status-follower.ts'

type Echo = Extract<Report, { kind: 'echo' }>

export async function keepEcho(
  db: Db,
  workspaceId: string,
  channel: ChannelName,
  echo: Echo,
  follower?: StatusFollower,
): Promise<void> {
  const who = { workspace_id: workspaceId, channel, phone: echo.to.phone, user_id: echo.to.user_id }
  const [thread] = await resolveThreads(db, [who])
  if (!thread) return
  const { conversation_id: conversationId } = thread
  const id = newId()
  const { media_id, media_source, media_token, mime_type, filename } = toMediaColumns(echo.media)
  const isUnread = echo.content_type === 'unsupported'
  await db.begin(async (sql) => {
    // One echo of a conversation at a time, and none beside the settling of a send in it.
    await sql`
      select 1 from conversations where workspace_id = ${workspaceId} and id = ${conversationId} for no key update`
    const [known] = await sql`
      select 1 from messages where workspace_id = ${workspaceId} and external_id = ${echo.external_id}`
    if (known) return
    // Perhaps our own, without the channel's id yet: the same words, or any if the echo's cannot be read.
    const [own] = await sql<{ id: string; is_answered: boolean }[]>`
      select id, created_at < now() - make_interval(secs => ${echoPatienceSeconds}) as is_answered
      from messages
      where workspace_id = ${workspaceId} and conversation_id = ${conversationId} and direction = 'outbound'
        and external_id is null and status = 'pending' and (${isUnread}
          or content_type = ${echo.content_type} and content_text is not distinct from ${echo.content_text})
      order by id
      limit 1
      for no key update`
    // The response to the send is still due, and names the message.
    if (own && !own.is_answered) return waitForMessage(sql, workspaceId, channel, echo)
    if (own && !isUnread) {
      await sql`
        with named as (
          update messages set external_id = ${echo.external_id}, status = 'sent', error = null
          where workspace_id = ${workspaceId} and conversation_id = ${conversationId} and id = ${own.id}
          returning workspace_id, id, sender_type, status, error, created_at, 'pending' as status_before
        ),
        ${countOutcomes(sql, sql`named`)}${followStatus(sql, follower, sql`named`)}
        select id from named`
      return
    }
    await sql`
      with added as (
        insert into messages (workspace_id, conversation_id, id, direction, sender_type, content_type, content_text, content,
          external_id, status, sent_at, created_at)
        values (${workspaceId}, ${conversationId}, ${id}, 'outbound', 'agent', ${echo.content_type}, ${echo.content_text},
          ${echo.content === null ? null : JSON.stringify(echo.content)}::text::jsonb, ${echo.external_id}, 'sent', ${echo.at},
          ${timeOfId(id)})
        on conflict do nothing
        returning workspace_id, created_at, status, 'pending' as status_before
      ),
      fetched_media as (
        insert into media (workspace_id, id, conversation_id, message_id, channel, source, token, mime_type, filename,
          next_attempt_at, created_at)
        select ${workspaceId}, ${media_id}, ${conversationId}, ${id}, ${channel}, ${JSON.stringify(media_source)}::text::jsonb,
          ${media_token}, ${mime_type}, ${filename}, now(), created_at
        from added
        where ${media_id}::uuid is not null
      ),
      ${countOutcomes(sql, sql`added`)}
      select 1`
    await sql`
      update conversations set last_message_text = ${echo.content_text}, last_message_at = ${timeOfId(id)}, updated_at = now()
      where workspace_id = ${workspaceId} and id = ${conversationId}`
  })
}
