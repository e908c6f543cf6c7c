-- Runs without a transaction.
-- The view of conversations that are with the bot, and the search for reply windows that end soon.
create index concurrently if not exists conversations_with_bot on conversations (workspace_id, (coalesce(inbox_at, created_at)), id)
  where bot_run_id is not null;

create index concurrently if not exists conversations_by_window on conversations (workspace_id, last_inbound_at)
  where status <> 'closed';
