-- Runs without a transaction.
-- Puts the conversations into the inbox, and builds the indexes of their lists. Each statement may run again.

-- 500 conversations per transaction: a longer one would hold back new messages of all of them. A batch that waits for a locked
-- conversation gives up after lock_timeout and runs again.
do $$
declare
  last_workspace uuid := '00000000-0000-0000-0000-000000000000';
  last_conversation uuid := '00000000-0000-0000-0000-000000000000';
  next_workspace uuid;
  next_conversation uuid;
begin
  loop
    commit;
    begin
      with
      -- The next conversations, locked in the order of their ids as everywhere.
      locked_conversations as (
        select workspace_id, id from conversations
        where (workspace_id, id) > (last_workspace, last_conversation) and inbox_at is null
        order by workspace_id, id
        limit 500
        for no key update
      ),
      -- The last message of the customer or of a member, and the last one of a member.
      activity as (
        select l.workspace_id, l.id, latest.created_at as inbox_at, reply.id as reply_id
        from locked_conversations l
        cross join lateral (
          select m.created_at from messages m
          where m.workspace_id = l.workspace_id and m.conversation_id = l.id
            and (m.direction = 'inbound' or m.sender_id is not null)
          order by m.id desc
          limit 1
        ) latest
        left join lateral (
          select m.id from messages m
          where m.workspace_id = l.workspace_id and m.conversation_id = l.id
            and m.direction = 'outbound' and m.sender_id is not null
          order by m.id desc
          limit 1
        ) reply on true
      ),
      -- A conversation that the service has put into the inbox since stays as it is.
      updated_conversations as (
        update conversations v set
          inbox_at = a.inbox_at,
          waiting_since = (
            select m.created_at from messages m
            where m.workspace_id = a.workspace_id and m.conversation_id = a.id and m.direction = 'inbound'
              and m.id > coalesce(a.reply_id, '00000000-0000-0000-0000-000000000000')
            order by m.id
            limit 1
          )
        from activity a
        where v.workspace_id = a.workspace_id and v.id = a.id and v.inbox_at is null
      )
      select l.workspace_id, l.id into next_workspace, next_conversation
      from locked_conversations l
      order by l.workspace_id desc, l.id desc
      limit 1;
      exit when next_workspace is null;
      last_workspace := next_workspace;
      last_conversation := next_conversation;
    exception when lock_not_available or deadlock_detected then
      null;
    end;
  end loop;
end $$;

-- One range of an index is the answer to one choice of its leading columns. A conversation with automated messages only is
-- in a range of its own, which no status selects.
create index concurrently if not exists conversations_in_inbox on conversations
  (workspace_id, channel, (case when inbox_at is null then 'automated' else status end), (coalesce(inbox_at, created_at)), id);

-- An unassigned conversation has an agent too: `is null` does not keep the order of the columns behind it.
create index concurrently if not exists conversations_in_inbox_of_agent on conversations
  (workspace_id, (coalesce(assigned_agent_id, '00000000-0000-0000-0000-000000000000'::uuid)),
    (case when inbox_at is null then 'automated' else status end), (coalesce(inbox_at, created_at)), id);

create index concurrently if not exists conversations_in_inbox_unread on conversations
  (workspace_id, (coalesce(inbox_at, created_at)), id) where unread_count > 0;

create index concurrently if not exists conversations_waiting on conversations (workspace_id, waiting_since, id)
  where waiting_since is not null and status <> 'closed';

create index concurrently if not exists conversations_snoozed on conversations (snoozed_until) where snoozed_until is not null;

-- For the lists by last activity and by change (`server/conversations/recent.ts`). Every message changes both times. An update that
-- changes only columns of a BRIN index stays in its page and writes no other index.
create index concurrently if not exists conversations_by_change on conversations
  using brin (updated_at, (coalesce(last_message_at, created_at))) with (pages_per_range = 8, autosummarize = on);

-- The inbox of the previous release sorts without these: 100 ms among 100,000 conversations, until its process ends.
drop index concurrently if exists conversations_by_activity;

drop index concurrently if exists conversations_by_agent;

drop index concurrently if exists conversations_unread;
