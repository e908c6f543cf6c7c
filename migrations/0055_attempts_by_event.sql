-- Runs without a transaction.
-- The page of an event shows its deliveries. Each statement may run again.

-- One partition after the other: outcomes of deliveries wait for the index of one day at most.
do $$
declare
  partition text;
begin
  for partition in
    select inhrelid::regclass::text from pg_inherits where inhparent = 'webhook_attempts'::regclass order by 1
  loop
    execute format('create index if not exists %I on %I (workspace_id, event_id)', partition || '_by_event', partition);
    commit;
  end loop;
end $$;

-- Takes over the indexes of the partitions.
create index if not exists webhook_attempts_by_event on webhook_attempts (workspace_id, event_id);

