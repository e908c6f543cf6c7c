-- Workspaces take turns in the queue of media to fetch, so each one's oldest must be found without reading the others'. The
-- build reads the whole table, since only the pending rows are in the index: 0.2 s for 1,000,000 media.
create index media_pending on media (workspace_id, next_attempt_at) where state = 'pending';
drop index media_due;

-- Reports about messages that are not there are checked with exponential backoff, workspaces in turn.
alter table early_reports
  add column check_count integer not null default 0,
  add column next_check_at timestamptz not null default now();
create index early_reports_due on early_reports (workspace_id, next_check_at);
create index early_reports_by_message on early_reports (workspace_id, external_id);
