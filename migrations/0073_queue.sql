-- Runs without a transaction.

-- The queue of each team, in its order. Only conversations that wait for a member are in it.
create index concurrently if not exists conversations_queued on conversations (workspace_id, team_id, waiting_since, inbox_at, id)
  where team_id is not null and assigned_agent_id is null and status = 'open' and bot_run_id is null
    and blocked_at is null and inbox_at is not null;
