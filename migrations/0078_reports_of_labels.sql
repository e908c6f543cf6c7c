-- Runs without a transaction.
-- Reports count the labels of open episodes; the episodes behind a figure are found by the time of the first reply. Each statement may
-- run again.

create or replace function note_labeled_episode() returns trigger language plpgsql as $$
begin
  insert into report_changes (workspace_id, episode_id)
  select v.workspace_id, v.episode_id from conversations v
  where v.workspace_id = coalesce(new.workspace_id, old.workspace_id) and v.id = coalesce(new.conversation_id, old.conversation_id)
    and v.episode_id is not null;
  return null;
end
$$;

create or replace trigger report_labeled after insert on conversation_labels
for each row execute function note_labeled_episode();

create or replace trigger report_unlabeled after delete on conversation_labels
for each row execute function note_labeled_episode();

create index concurrently if not exists episodes_by_first_reply on episodes (workspace_id, first_reply_at, id)
where first_reply_at is not null;

-- Episodes that were written before the triggers.
insert into report_changes (workspace_id, episode_id)
select e.workspace_id, e.id from episodes e
where not exists (select from counted_episodes c where c.workspace_id = e.workspace_id and c.episode_id = e.id);
