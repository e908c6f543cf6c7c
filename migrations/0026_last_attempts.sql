-- The last attempt of each endpoint, so that members see a failing one while its events are still retried.
-- A null last_attempt_error is a success.
alter table webhook_endpoints
  add column last_attempt_at timestamptz,
  add column last_attempt_http_status integer,
  add column last_attempt_error text;
