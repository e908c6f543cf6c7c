-- The counters of the overview per connection. Release 0.1.0 counts in message_days and message_outcomes, without connections; a read adds
-- them up, and the counts of one connection begin on the day after the last of those.

-- Rows that exist belong to the connection that the conversations of their channel have.
alter table message_periods add column connection_id uuid;
update message_periods p set connection_id = coalesce((
  select c.id from channel_connections c
  where c.workspace_id = p.workspace_id and c.channel_name = p.channel
  order by c.channel is null, c.disconnected_at desc nulls first
  limit 1
), p.workspace_id);
alter table message_periods
  alter column connection_id set not null,
  drop constraint message_periods_pkey,
  add constraint message_periods_pkey primary key (workspace_id, at, channel, connection_id);
create index message_periods_by_connection on message_periods (workspace_id, connection_id, at);
comment on table message_periods is 'Messages and answer times per quarter of an hour and connection. All time zones have whole quarters.';

create table connection_outcomes (
  workspace_id uuid not null references workspaces on delete cascade,
  day date not null,
  connection_id uuid not null,
  shard integer not null,
  sent integer not null,
  delivered integer not null,
  read integer not null,
  failed integer not null,
  primary key (workspace_id, day, connection_id, shard)
) with (fillfactor = 50);
comment on table connection_outcomes is 'Statuses of the messages of a day and connection in 8 shards; a read adds them up.';
comment on table message_outcomes is
  'Statuses of the messages of a day in 8 shards, counted by release 0.1.0. A read adds them to connection_outcomes.';

-- Rows without a connection are from before. The loop that folds the rows counts their workspaces again.
alter table inbox_counts add column connection_id uuid;

create or replace function count_inbox() returns trigger language plpgsql as $$
declare
  was_open boolean := old.inbox_at is not null and old.status = 'open';
  is_open boolean := new.inbox_at is not null and new.status = 'open';
begin
  insert into inbox_counts (workspace_id, connection_id, open, unassigned) values (
    coalesce(new.workspace_id, old.workspace_id),
    coalesce(new.connection_id, old.connection_id),
    is_open::int - was_open::int,
    (is_open and new.assigned_agent_id is null)::int - (was_open and old.assigned_agent_id is null)::int
  );
  return null;
end
$$;
