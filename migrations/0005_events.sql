-- What happened, in the exact bytes that webhooks will carry.
create table webhook_events (
  workspace_id uuid not null references workspaces (id) on delete cascade,
  id uuid not null,
  event text not null,
  body text not null,
  occurred_at timestamptz not null,
  created_at timestamptz not null default now(),
  primary key (workspace_id, id)
);
-- Rows come in order of time, so a summary of each stretch of pages is enough to find the old ones.
create index webhook_events_by_age on webhook_events using brin (created_at);
