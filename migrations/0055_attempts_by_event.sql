-- Runs without a transaction.
-- The page of an event shows its deliveries. Each statement may run again.

-- An index of a partitioned table cannot be built concurrently, but those of its partitions can.
-- Each row is a statement.
select format('create index concurrently if not exists %I on %I (workspace_id, event_id)', relname || '_by_event', relname)
from pg_inherits i join pg_class c on c.oid = i.inhrelid
where i.inhparent = 'webhook_attempts'::regclass
order by relname;

-- Takes over the indexes of the partitions.
create index if not exists webhook_attempts_by_event on webhook_attempts (workspace_id, event_id);
