/**
 * Echoes: messages of the business that the channel reports back.
 *
 * Most are our own sends, reported before or after the answer to the send. The others were written in the provider's own
 * app and are stored in the conversation, with their media. They count as replies of a member and end the automations of the conversation.
 */
import type { Times } from '../../../common/times.ts'
import type { Report } from '../../channels/channel.ts'
import type { PersonRef } from '../../contacts/people.ts'
import { answerEpisodes, teamOfOpening } from '../../conversations/episodes/writing.ts'
import { resolveThreads, retryMoved } from '../../conversations/threads.ts'
import { newId, timeOfId } from '../../lib/id.ts'
import { type Db, requireRow, type Sql } from '../../lib/postgres/db.ts'
import { toMediaColumns } from '../../media/media.ts'
import { countOutcomes } from '../outcomes.ts'
import { idAfterBots } from '../sending/run-stopper.ts'
import { followStatus, type StatusContext } from '../status-follower.ts'
import type { ReportSource } from './reports.ts'

type Echo = Extract<Report, { kind: 'echo' }>

export type EchoTimes = Pick<Times['messages'], 'echoMs'>
type EchoContext = Pick<StatusContext, 'follower' | 'runs'>

/** Returns false while the echo may be about a send whose answer is still due: apply it again later. */
export async function applyEcho(
  db: Db,
  workspaceId: string,
  source: ReportSource,
  echo: Echo,
  times: EchoTimes,
  context: EchoContext,
): Promise<boolean> {
  const recipient = { workspace_id: workspaceId, ...source, phone: echo.to.phone, user_id: echo.to.user_id }
  return retryMoved(async () => {
    const [thread] = await resolveThreads(db, [recipient])
    const { conversation_id: conversationId } = requireRow(thread, 'the thread of an echo')
    return db.begin((sql) => storeEcho(sql, recipient, conversationId, echo, times, context))
  })
}

/** Returns false as above, and undefined when the conversation is gone. */
async function storeEcho(
  sql: Sql,
  { workspace_id: workspaceId, channel, connection_id = null }: PersonRef,
  conversationId: string,
  echo: Echo,
  times: EchoTimes,
  { follower, runs }: EchoContext,
): Promise<boolean | undefined> {
  const { media_id, media_source, media_token, mime_type, filename } = toMediaColumns(echo.media)
  const isUnreadable = echo.content_type === 'unsupported'
  const ownTypes = echo.content_type === 'text' ? ['text', 'interactive'] : [echo.content_type]
  // The lock serializes the echoes of a conversation.
  const [locked] = await sql<{ connection_id: string }[]>`
    select connection_id from conversations where workspace_id = ${workspaceId} and id = ${conversationId} for no key update`
  if (!locked) return undefined
  const [known] = await sql`
    select 1 from messages where workspace_id = ${workspaceId} and external_id = ${echo.external_id}`
  if (known) return true
  // A send of ours that has no id of the channel yet: with the same text, or any when the echo is unreadable. The echo of
  // buttons is a text.
  const [own] = await sql<{ id: string; is_answered: boolean }[]>`
    select id, created_at < now() - make_interval(secs => ${times.echoMs / 1000}) as is_answered
    from messages
    where workspace_id = ${workspaceId} and conversation_id = ${conversationId} and direction = 'outbound'
      and external_id is null and status = 'pending' and (${isUnreadable}
        or content_type = any(${ownTypes}) and content_text is not distinct from ${echo.content_text})
    order by id
    limit 1
    for no key update`
  if (own && !own.is_answered) return false
  if (own && !isUnreadable) {
    await sql`
      with identified_message as (
        update messages set external_id = ${echo.external_id}, status = 'sent', error = null
        where workspace_id = ${workspaceId} and conversation_id = ${conversationId} and id = ${own.id}
        returning workspace_id, id, sender_type, status, error, created_at, 'pending' as status_before,
          ${locked.connection_id}::uuid as connection_id
      ),
      ${countOutcomes(sql, sql`identified_message`)}${followStatus(sql, follower, sql`identified_message`)}
      select id from identified_message`
    return true
  }
  if (runs) await runs.stop(sql, workspaceId, conversationId, null)
  const id = await idAfterBots(sql, workspaceId, conversationId, newId())
  await sql`
    with inserted_message as (
      insert into messages (workspace_id, conversation_id, id, direction, sender_type, content_type, content_text, content,
        external_id, status, sent_at, created_at)
      values (${workspaceId}, ${conversationId}, ${id}, 'outbound', 'agent', ${echo.content_type}, ${echo.content_text},
        ${echo.content === null ? null : JSON.stringify(echo.content)}::text::jsonb, ${echo.external_id}, 'sent', ${echo.at},
        ${timeOfId(id)})
      on conflict do nothing
      returning workspace_id, created_at, status, 'pending' as status_before, ${locked.connection_id}::uuid as connection_id
    ),
    inserted_media as (
      insert into media (workspace_id, id, conversation_id, message_id, channel, connection_id, source, token, mime_type, filename,
        next_attempt_at, created_at)
      select ${workspaceId}, ${media_id}, ${conversationId}, ${id}, ${channel}, ${connection_id}, ${JSON.stringify(media_source)}::text::jsonb,
        ${media_token}, ${mime_type}, ${filename}, now(), created_at
      from inserted_message
      where ${media_id}::uuid is not null
    ),
    ${countOutcomes(sql, sql`inserted_message`)}
    select 1`
  await sql`
    with
    -- The conversation as the transaction has locked it.
    locked_conversations as (
      select workspace_id, id, status, connection_id, assigned_agent_id, episode_id, episode_replies from conversations
      where workspace_id = ${workspaceId} and id = ${conversationId}
    ),
    ${answerEpisodes(
      sql,
      sql`(
        select workspace_id, id as conversation_id, ${id}::uuid as id, ${timeOfId(id)}::timestamptz as at, null::uuid as member_id
        from locked_conversations
      )`,
    )}
    update conversations v set last_message_text = ${echo.content_text}, last_message_at = ${timeOfId(id)},
      inbox_at = ${timeOfId(id)}, waiting_since = null, unread_count = 0,
      episode_replies = case when v.episode_id is null and v.status = 'closed' then 0 else v.episode_replies + 1 end,
      episode_id = case when v.episode_id is null and v.status <> 'closed' then ${id}::uuid else v.episode_id end,
      team_id = case when v.episode_id is null and v.status <> 'closed' then ${teamOfOpening(sql)} else v.team_id end,
      updated_at = now()
    where v.workspace_id = ${workspaceId} and v.id = ${conversationId}`
  return true
}
