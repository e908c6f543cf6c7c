-- One connection a workspace and channel. Secrets are sealed.
create table channel_connections (
  workspace_id uuid not null references workspaces (id) on delete cascade,
  id uuid not null,
  channel text not null check (channel in ('msgapp', 'social', 'web')),
  account_id text not null default '',
  phone_number_id text not null default '',
  base_url text not null default '',
  api_version text not null default '',
  -- Sealed JSON: access_token, app_secret, verify_token.
  secrets text not null,
  messages_per_second integer not null default 80 check (messages_per_second between 1 and 10000),
  -- Made by the operator: its address may be private.
  is_private boolean not null default false,
  -- Which simulator it speaks to: the one inside the service, or one that runs alone.
  simulator text check (simulator in ('built_in', 'alone')),
  state text not null default 'unchecked' check (state in ('unchecked', 'connected', 'failing')),
  last_error text,
  checked_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (workspace_id, id),
  constraint channel_connections_one_a_channel unique (workspace_id, channel)
);
-- A callback names its connection alone: it says which workspace it is for.
create unique index channel_connections_by_id on channel_connections (id);

create table templates (
  workspace_id uuid not null references workspaces (id) on delete cascade,
  name text not null,
  language text not null,
  external_id text not null,
  status text not null,
  category text not null,
  parameter_format text not null,
  components jsonb not null,
  updated_at timestamptz not null,
  primary key (workspace_id, name, language)
);
