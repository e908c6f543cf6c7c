-- Runs without a transaction.
-- The inbox of a team: the same order as that of a member. Conversations without a team are not in it, so a workspace without teams pays
-- nothing for it.

create index concurrently if not exists conversations_in_inbox_of_team on conversations (
  workspace_id, team_id, (case when inbox_at is null then 'automated' else status end), coalesce(inbox_at, created_at), id
) where team_id is not null;

create index concurrently if not exists canned_replies_of_team on canned_replies (workspace_id, team_id) where team_id is not null;
