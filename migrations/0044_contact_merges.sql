-- Merges of contacts whose long history moves in several transactions. A worker continues one whose process was stopped.
create table contact_merges (
  workspace_id uuid not null,
  from_id uuid not null,
  to_id uuid not null,
  continued_at timestamptz not null default now(),
  primary key (workspace_id, from_id),
  foreign key (workspace_id, from_id) references contacts on delete cascade,
  foreign key (workspace_id, to_id) references contacts on delete cascade
);
comment on table contact_merges is 'Merges of contacts that are in progress: the history of one moves to the other in batches.';
comment on column contact_merges.continued_at is 'When the last batch was moved.';
create index contact_merges_by_target on contact_merges (workspace_id, to_id);
