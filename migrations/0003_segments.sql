-- Named audiences: a list of members, or a filter that is computed on every read.

create table segments (
  workspace_id uuid not null references workspaces on delete cascade,
  id uuid not null,
  name text not null,
  name_key text not null, -- folded, for comparing
  description text,
  color text not null,
  kind text not null check (kind in ('static', 'dynamic')),
  filter jsonb check ((filter is null) = (kind = 'static')),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (workspace_id, id),
  constraint segments_name_unique unique (workspace_id, name_key)
);

create table segment_members (
  workspace_id uuid not null,
  segment_id uuid not null,
  contact_id uuid not null,
  primary key (workspace_id, segment_id, contact_id),
  foreign key (workspace_id, segment_id) references segments on delete cascade,
  foreign key (workspace_id, contact_id) references contacts on delete cascade
);
create index segment_members_by_contact on segment_members (workspace_id, contact_id);
