-- Workspaces, their members and the keys that act for them.

create table workspaces (
  id uuid primary key,
  name text not null,
  default_country text not null,
  plan_messages_per_month integer check (plan_messages_per_month >= 0), -- null: unlimited
  plan_state text not null default 'active' check (plan_state in ('active', 'lapsed')),
  is_demo boolean not null default false,
  created_at timestamptz not null
);
-- At most one demo workspace, however many processes start at once.
create unique index workspaces_one_demo on workspaces (is_demo) where is_demo;

create table members (
  workspace_id uuid not null references workspaces on delete cascade,
  id uuid not null,
  email text not null,
  email_key text not null, -- folded, for comparing
  name text,
  role text not null check (role in ('owner', 'admin', 'agent')),
  password_hash text not null,
  created_at timestamptz not null,
  primary key (workspace_id, id),
  constraint members_email_unique unique (workspace_id, email_key)
);
create index members_by_email on members (email_key);

create table invitations (
  workspace_id uuid not null references workspaces on delete cascade,
  id uuid not null,
  token_hash text not null unique,
  email text not null,
  email_key text not null,
  role text not null check (role in ('owner', 'admin', 'agent')),
  invited_by uuid not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (workspace_id, id),
  constraint invitations_email_unique unique (workspace_id, email_key)
);

create table sessions (
  workspace_id uuid not null,
  id uuid not null,
  token_hash text not null unique,
  member_id uuid not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (workspace_id, id),
  foreign key (workspace_id, member_id) references members on delete cascade
);
create index sessions_by_member on sessions (workspace_id, member_id);
create index sessions_by_expiry on sessions (expires_at);

create table api_keys (
  workspace_id uuid not null references workspaces on delete cascade,
  id uuid not null,
  name text not null,
  prefix text not null,
  key_hash text not null unique,
  scopes text[] not null,
  created_by uuid, -- null: imported by the operator
  created_at timestamptz not null,
  last_used_at timestamptz,
  expires_at timestamptz,
  revoked_at timestamptz,
  primary key (workspace_id, id)
);

-- One rate window a key. Unlogged: after a crash every window starts anew, and
-- counting costs no write-ahead log. Rows are updated all the time; the free
-- half of each page keeps those updates in place.
create unlogged table api_key_windows (
  workspace_id uuid not null,
  key_id uuid not null,
  started_at timestamptz not null,
  request_count integer not null,
  primary key (workspace_id, key_id)
) with (fillfactor = 50);

-- Failed sign-ins of the last minute, by address and e-mail.
create unlogged table sign_in_failures (
  address text not null,
  email_key text not null,
  started_at timestamptz not null,
  failure_count integer not null,
  primary key (address, email_key)
);
create index sign_in_failures_by_start on sign_in_failures (started_at);

-- What a POST with an Idempotency-Key answered. `status` is null while the
-- first request is still under way; its lease tells a live one from a crashed one.
create table idempotency_keys (
  workspace_id uuid not null references workspaces on delete cascade,
  path text not null,
  key text not null,
  body_hash text not null,
  claim_id uuid not null, -- whose it is: one that outlived its lease must not settle for its successor
  status integer,
  body text,
  created_at timestamptz not null,
  locked_until timestamptz not null,
  primary key (workspace_id, path, key)
);
create index idempotency_keys_by_age on idempotency_keys (created_at);
