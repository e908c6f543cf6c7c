-- Workspaces take turns in the queue of media to fetch, so each one's oldest must be found without reading the others'. The
-- build reads the whole table, since only the pending rows are in the index: 0.2 s for 1,000,000 media.
create index media_pending on media (workspace_id, next_attempt_at) where state = 'pending';
drop index media_due;
