-- Who did what in the dashboard, where members are signed in, and what is left of a member who was removed.

create table audit_log (
  workspace_id uuid not null references workspaces on delete cascade,
  id uuid not null,
  -- Who they were then: neither goes when the member does.
  member_id uuid not null,
  member_email text not null,
  action text not null,
  subject_id uuid,
  summary text,
  created_at timestamptz not null,
  primary key (workspace_id, id)
);
create index audit_log_by_age on audit_log (created_at);

-- Null: made by an earlier release.
alter table sessions
  add column address text,
  add column user_agent text,
  add column last_seen_at timestamptz;

-- What a removed member looked after is nobody's. Not checked for the rows there are: nobody was removed so far.
alter table conversations
  add constraint conversations_assigned_agent_fkey foreign key (workspace_id, assigned_agent_id)
  references members (workspace_id, id) on delete set null (assigned_agent_id) not valid;
create index conversations_of_member on conversations (workspace_id, assigned_agent_id)
  where assigned_agent_id is not null;

-- What failed is found among a million that did not. A success, which is what mostly happens, is not written to it.
create index webhook_attempts_in_vain on webhook_attempts (workspace_id, endpoint_id, status, id)
  where status in ('failed', 'canceled');
