-- Runs without a transaction.
-- The inbox by due time, and what else clocks depend on. Each statement may run again.

create index concurrently if not exists conversations_due on conversations (workspace_id, due_at, id)
  where due_at is not null and waiting_since is not null and status <> 'closed';

create or replace trigger queue_target_label after insert or delete on conversation_labels for each row
execute function queue_target_label();

-- Office hours, and the automations that react before a breach.
create or replace function recompute_targets_of_row() returns trigger language plpgsql as $$
begin
  perform recompute_targets(new.workspace_id);
  return null;
end $$;

create or replace function recompute_targets_of_workspace() returns trigger language plpgsql as $$
begin
  perform recompute_targets(new.id);
  return null;
end $$;

create or replace trigger recompute_targets after update of time_zone, periods, holidays on schedules for each row
execute function recompute_targets_of_row();

create or replace trigger recompute_targets after update of schedule_id on teams for each row
when (old.schedule_id is distinct from new.schedule_id)
execute function recompute_targets_of_row();

create or replace trigger recompute_targets after update of schedule_id on channel_connections for each row
when (old.schedule_id is distinct from new.schedule_id)
execute function recompute_targets_of_row();

create or replace trigger recompute_targets after update of schedule_id on workspaces for each row
when (old.schedule_id is distinct from new.schedule_id)
execute function recompute_targets_of_workspace();

create or replace trigger recompute_reminders after update of automation_kinds on workspaces for each row
when ('target' = any(old.automation_kinds) or 'target' = any(new.automation_kinds))
execute function recompute_targets_of_workspace();
