-- The request log has a row per request, so that filters are plain SQL. No release wrote blocks: those of other versions are dropped.
drop table request_blocks;
create table api_requests (
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
create table api_requests_rest partition of api_requests default;
