-- What a new workspace is led to do first: hidden once somebody says so.

create table checklists (
  workspace_id uuid primary key references workspaces on delete cascade,
  dismissed_at timestamptz,
  -- Customers' messages that were there when the workspace was made, of that day (UTC): a demo's history.
  inbound_before integer not null default 0
);

-- Whoever is here already needs no first steps.
insert into checklists (workspace_id, dismissed_at) select id, now() from workspaces;
