-- Who follows a workspace's events on an open line: until then they are recorded for it, whether or not an endpoint
-- wants them. A listener that is gone is forgotten by itself.
create table webhook_listeners (
  workspace_id uuid not null references workspaces (id) on delete cascade,
  id uuid not null,
  events text[] not null check (cardinality(events) > 0),
  expires_at timestamptz not null,
  primary key (workspace_id, id)
);
