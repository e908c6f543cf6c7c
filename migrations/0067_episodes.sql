-- Episodes: their spans in office hours, the closings of the previous release, and the progress of the history.

alter table episodes
  add column office_first_reply_s integer,
  add column office_closing_s integer;
comment on column episodes.office_first_reply_s is
  'Seconds in office hours from the opening to the first reply. Null until the loop episode-hours has computed it.';
comment on column episodes.office_closing_s is 'The same to the closing.';
comment on column episodes.id is
  'The id of the message that opened it. Of an episode that was open during the upgrade to this version: of its first message after it.';
comment on column episodes.closed_by is 'Null if it is not known: a process of an earlier version closed it, or no entry of the timeline says when.';

-- The episodes whose spans in office hours are to be computed.
create index episodes_without_hours on episodes (workspace_id, id)
where (first_reply_at is not null and office_first_reply_s is null) or (closed_at is not null and office_closing_s is null);

-- A process of the previous release closes conversations and leaves the episode open. It runs after the statement: those of this release
-- have set `episode_id` to null then.
create function close_episode() returns trigger language plpgsql as $$
begin
  update episodes set
    closed_at = greatest(clock_timestamp(), opened_at), replies = new.episode_replies, customer_messages = new.episode_messages,
    team_id = new.team_id, member_id = new.assigned_agent_id, updated_at = now(),
    labels = array(
      select l.label_id from conversation_labels l
      where l.workspace_id = new.workspace_id and l.conversation_id = new.id
      order by l.label_id
    )
  where workspace_id = new.workspace_id and id = new.episode_id and closed_at is null;
  update conversations set episode_id = null, episode_messages = 0, episode_replies = 0
  where workspace_id = new.workspace_id and id = new.id;
  return null;
end $$;
create trigger close_episode after update of status on conversations for each row
when (new.status = 'closed' and new.episode_id is not null)
execute function close_episode();

create table episode_history (
  is_only boolean primary key default true,
  after_workspace_id uuid not null default '00000000-0000-0000-0000-000000000000',
  after_id uuid not null default '00000000-0000-0000-0000-000000000000',
  finished_at timestamptz,
  constraint episode_history_only_check check (is_only)
);
comment on table episode_history is
  'One row: the last conversation whose past episodes were written from its messages and timeline, and when all were.';
insert into episode_history default values;
