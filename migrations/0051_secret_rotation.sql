-- The earlier secrets of a webhook endpoint that still sign its deliveries, after a rotation with an overlap.
alter table webhook_endpoints
  add column old_secrets text[],
  add column old_secrets_until timestamptz[],
  add constraint webhook_endpoints_old_secrets check (
    (old_secrets is null and old_secrets_until is null) or cardinality(old_secrets) = cardinality(old_secrets_until)
  );
comment on column webhook_endpoints.old_secrets is
  'Earlier secrets that still sign deliveries beside the current one, sealed, oldest first. Null if there is none.';
comment on column webhook_endpoints.old_secrets_until is 'When each of the earlier secrets stops signing.';
