-- Runs without a transaction.
-- Counts the open conversations of the inbox as they change, so that the overview does not count them. Each statement may run
-- again.

-- A workspace has one row with its counts and one row per change since. Without a reference to workspaces: when a workspace is
-- deleted, its conversations are deleted after it, and the trigger inserts their changes.
create table if not exists inbox_counts (
  workspace_id uuid not null,
  open int not null,
  unassigned int not null
);

create index if not exists inbox_counts_by_workspace on inbox_counts (workspace_id);

comment on table inbox_counts is 'Open conversations of the inbox, and those of them without a member: counts and changes of counts; a read adds them up.';

create or replace function count_inbox() returns trigger language plpgsql as $$
declare
  was_open boolean := old.inbox_at is not null and old.status = 'open';
  is_open boolean := new.inbox_at is not null and new.status = 'open';
begin
  insert into inbox_counts (workspace_id, open, unassigned) values (
    coalesce(new.workspace_id, old.workspace_id),
    is_open::int - was_open::int,
    (is_open and new.assigned_agent_id is null)::int - (was_open and old.assigned_agent_id is null)::int
  );
  return null;
end
$$;

create or replace trigger count_inserted after insert on conversations
for each row when (new.inbox_at is not null and new.status = 'open')
execute function count_inbox();

create or replace trigger count_updated after update of inbox_at, status, assigned_agent_id on conversations
for each row when (
  (old.inbox_at is not null and old.status = 'open', old.assigned_agent_id is null)
  is distinct from
  (new.inbox_at is not null and new.status = 'open', new.assigned_agent_id is null)
)
execute function count_inbox();

create or replace trigger count_deleted after delete on conversations
for each row when (old.inbox_at is not null and old.status = 'open')
execute function count_inbox();

-- What the triggers have not counted. One statement sees the conversations and the changes at the same moment.
insert into inbox_counts (workspace_id, open, unassigned)
select workspace_id, sum(open), sum(unassigned)
from (
  select workspace_id, count(*) as open, count(*) filter (where assigned_agent_id is null) as unassigned
  from conversations
  where inbox_at is not null and status = 'open'
  group by workspace_id
  union all
  select workspace_id, -open, -unassigned from inbox_counts
) counts
group by workspace_id;
