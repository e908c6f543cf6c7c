create table webhook_endpoints (
  workspace_id uuid not null references workspaces (id) on delete cascade,
  id uuid not null,
  url text not null,
  events text[] not null check (cardinality(events) > 0),
  -- Who made it: the API, or an automation tool connected in the dashboard.
  provider text not null default 'api' check (provider in ('api', 'tool_a', 'tool_b')),
  is_active boolean not null default true,
  -- Sealed.
  secret text not null,
  last_delivery_at timestamptz,
  -- Failed events since the last success.
  failure_count integer not null default 0,
  created_at timestamptz not null,
  primary key (workspace_id, id)
);

-- Events and attempts are kept by days of their ids, which are times: a day that is over is dropped whole.
-- Nothing delivered the events recorded so far.
drop table webhook_events;
create table webhook_events (
  workspace_id uuid not null,
  id uuid not null,
  event text not null,
  body text not null,
  occurred_at timestamptz not null,
  primary key (workspace_id, id)
) partition by range (id);
create table webhook_events_rest partition of webhook_events default;

-- What is not delivered yet, and nothing else: narrow, without the payload. A row is the job.
create table webhook_deliveries (
  workspace_id uuid not null,
  endpoint_id uuid not null,
  id uuid not null,
  event_id uuid not null,
  attempt_count integer not null default 0,
  -- When it is due; while it is under way, when whoever has it is given up.
  next_attempt_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  primary key (workspace_id, endpoint_id, id),
  foreign key (workspace_id, endpoint_id) references webhook_endpoints (workspace_id, id) on delete cascade
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
-- The next ones of an endpoint, and the next endpoint that has any: the cost of both does not grow with the queue.
create index webhook_deliveries_due on webhook_deliveries (endpoint_id, next_attempt_at, id);

-- Every attempt, for members to look at.
create table webhook_attempts (
  workspace_id uuid not null,
  endpoint_id uuid not null,
  id uuid not null,
  delivery_id uuid not null,
  event_id uuid not null,
  event text not null,
  -- From 1; 0 for what was canceled before it was tried.
  attempt integer not null,
  -- Where the delivery stood after it.
  status text not null check (status in ('delivered', 'pending', 'failed', 'canceled')),
  http_status integer,
  duration_ms integer,
  error text,
  response text,
  -- The first word of a delivery: lists show each delivery once, here.
  is_first boolean not null,
  primary key (workspace_id, endpoint_id, id)
) partition by range (id);
create table webhook_attempts_rest partition of webhook_attempts default;
create index webhook_attempts_first on webhook_attempts (workspace_id, endpoint_id, id) where is_first;
create index webhook_attempts_by_delivery on webhook_attempts (workspace_id, delivery_id);
