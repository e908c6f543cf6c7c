-- Runs without a transaction.
-- Gives every conversation its connection, and builds the indexes of their lists. Each statement may run again.

-- A channel that was disconnected keeps its conversations: they get a disconnected connection. The id is a UUIDv7.
insert into channel_connections (workspace_id, id, channel_name, name, name_key, secrets, disconnected_at, created_at, updated_at)
select w.id,
  (lpad(to_hex((extract(epoch from now()) * 1000)::bigint), 12, '0') || '7' || substr(md5(random()::text), 1, 3) || '8'
    || substr(md5(random()::text), 1, 15))::uuid,
  n.channel, n.name, lower(n.name), '', now(), now(), now()
from workspaces w
cross join (values ('msgapp', 'Phone number'), ('social', 'Social account'), ('web', 'Website')) as n (channel, name)
where exists (select from conversations v where v.workspace_id = w.id and v.channel = n.channel)
  and not exists (select from channel_connections c where c.workspace_id = w.id and c.channel_name = n.channel);

-- 500 conversations per transaction: a longer one would hold back new messages of all of them. A batch that waits for a locked
-- conversation gives up after lock_timeout and runs again. Before the indexes are built, so that no index has to change.
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
        select workspace_id, id, channel from conversations
        where (workspace_id, id) > (last_workspace, last_conversation)
        order by workspace_id, id
        limit 500
        for no key update
      ),
      -- The default connection of their channel, or the one that was disconnected last.
      updated_conversations as (
        update conversations v set connection_id = (
          select c.id from channel_connections c
          where c.workspace_id = l.workspace_id and c.channel_name = l.channel
          order by c.channel is null, c.disconnected_at desc nulls first
          limit 1
        )
        from locked_conversations l
        where v.workspace_id = l.workspace_id and v.id = l.id and v.connection_id is null
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

create unique index concurrently if not exists conversations_of_contact on conversations (workspace_id, contact_id, connection_id);

create index concurrently if not exists conversations_by_connection on conversations (workspace_id, connection_id, id);

-- One range of this index is the answer to one connection and status. A conversation with automated messages only is in a range of its own,
-- which no status selects.
create index concurrently if not exists conversations_in_inbox_of_connection on conversations
  (workspace_id, connection_id, (case when inbox_at is null then 'automated' else status end), (coalesce(inbox_at, created_at)), id);

alter table conversations drop constraint if exists conversations_contact_channel_unique;

-- The lists of the previous release sort without these, until its process ends.
drop index concurrently if exists conversations_by_channel;

drop index concurrently if exists conversations_in_inbox;
