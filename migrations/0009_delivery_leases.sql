-- Who has a delivery has it until then. Apart from the time it is due, which an index is about: so a claim changes a row
-- within its page and leaves the indexes alone.
alter table webhook_deliveries add column leased_until timestamptz;
alter table webhook_deliveries set (fillfactor = 50);
-- What was tried before goes first. Behind a long queue its turn would never come, and nobody would notice that the
-- endpoint is dead.
alter table webhook_deliveries add column is_retry boolean not null default false;
drop index webhook_deliveries_due;
create index webhook_deliveries_due on webhook_deliveries (endpoint_id, is_retry, next_attempt_at);

-- All but retries are a delivery's first word: among an endpoint's attempts they are found as well without an index of
-- their own, which every attempt had to be written to.
drop index webhook_attempts_first;
