-- Runs without a transaction.
-- For developers: rotation of webhook secrets, the deliveries of an event, and the request log. Each statement may run again.

-- The earlier secrets of a webhook endpoint that still sign its deliveries, after a rotation with an overlap.
alter table webhook_endpoints
  add column if not exists old_secrets text[],
  add column if not exists old_secrets_until timestamptz[],
  drop constraint if exists webhook_endpoints_old_secrets,
  add constraint webhook_endpoints_old_secrets check (
    (old_secrets is null and old_secrets_until is null) or cardinality(old_secrets) = cardinality(old_secrets_until)
  );

comment on column webhook_endpoints.old_secrets is
  'Earlier secrets that still sign deliveries beside the current one, sealed, oldest first. Null if there is none.';

comment on column webhook_endpoints.old_secrets_until is 'When each of the earlier secrets stops signing.';

-- The page of an event shows its deliveries.
-- An index of a partitioned table cannot be built concurrently, but those of its partitions can.
-- Each row is a statement.
select format('create index concurrently if not exists %I on %I (workspace_id, event_id)', relname || '_by_event', relname)
from pg_inherits i join pg_class c on c.oid = i.inhrelid
where i.inhparent = 'webhook_attempts'::regclass
order by relname;

-- Takes over the indexes of the partitions.
create index if not exists webhook_attempts_by_event on webhook_attempts (workspace_id, event_id);

-- The request log has a row per request, so that filters are plain SQL.
create table if not exists api_requests (
  workspace_id uuid not null,
  id uuid not null,
  key_id uuid not null,
  method text not null,
  path text not null,
  status smallint,
  duration_ms integer not null,
  request_id text not null,
  error_code text,
  error_message text,
  body text,
  primary key (workspace_id, id)
) partition by range (id);

comment on table api_requests is 'The request log: requests of API keys, kept for 7 days in partitions of a day.';

comment on column api_requests.id is 'Its time is the end of the request.';

comment on column api_requests.status is 'Null if the client closed the connection before the response.';

comment on column api_requests.body is 'The body of a write that failed, without secrets.';

create table if not exists api_requests_rest partition of api_requests default;
