-- People, how they are reached, and their tags.

create extension if not exists pg_trgm;

create table contacts (
  workspace_id uuid not null references workspaces on delete cascade,
  id uuid not null,
  phone text,
  social_username text,
  name text,
  email text,
  company text,
  avatar_url text,
  -- The same texts folded, for comparing.
  social_username_key text,
  name_key text,
  email_key text,
  company_key text,
  -- One text to search them all; a newline marks where each of them begins.
  search text not null generated always as (
    E'\n' || coalesce(translate(name_key, E'\n', ' '), '') || E'\n' || coalesce(phone, '') ||
    E'\n' || coalesce(translate(email_key, E'\n', ' '), '') || E'\n' || coalesce(translate(company_key, E'\n', ' '), '')
  ) stored,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (workspace_id, id)
);
-- A search right after many writes also reads the pending list: keep it short.
create index contacts_search on contacts using gin (search gin_trgm_ops) with (gin_pending_list_limit = 256);

create table contact_identities (
  workspace_id uuid not null,
  channel text not null check (channel in ('msgapp', 'social', 'web')),
  external_id text not null,
  contact_id uuid not null,
  primary key (workspace_id, channel, external_id),
  foreign key (workspace_id, contact_id) references contacts on delete cascade
);
create index contact_identities_by_contact on contact_identities (workspace_id, contact_id, channel);
create index contact_identities_by_channel on contact_identities (workspace_id, channel, contact_id);

create table tags (
  workspace_id uuid not null references workspaces on delete cascade,
  id uuid not null,
  name text not null,
  name_key text not null, -- folded, for comparing
  color text not null,
  created_at timestamptz not null,
  primary key (workspace_id, id),
  constraint tags_name_unique unique (workspace_id, name_key)
);

create table contact_tags (
  workspace_id uuid not null,
  contact_id uuid not null,
  tag_id uuid not null,
  primary key (workspace_id, contact_id, tag_id),
  foreign key (workspace_id, contact_id) references contacts on delete cascade,
  foreign key (workspace_id, tag_id) references tags on delete cascade
);
create index contact_tags_by_tag on contact_tags (workspace_id, tag_id, contact_id);
