create table broadcasts (
  workspace_id uuid not null references workspaces (id) on delete cascade,
  id uuid not null,
  name text not null,
  status text not null check (status in ('scheduled', 'sending', 'sent', 'canceled')),
  template_name text not null,
  template_language text not null,
  params jsonb not null,
  -- As it was named; it may be gone since.
  segment_id uuid,
  total_count integer not null default 0,
  -- How many recipients there are rows of, and whether these are all.
  filled_count integer not null default 0,
  is_filled boolean not null,
  -- Contacts of the segment up to this one have rows.
  filled_to uuid,
  -- Whoever stands up to here was looked at: handed over, or passed over.
  position integer not null default 0,
  -- Places in the plan of a month that are taken for those who were not handed over yet.
  plan_month date,
  reserved_count integer not null default 0,
  is_paused boolean not null default false,
  pause_reason text,
  cancel_reason text,
  -- The broadcast to those this one did not reach: one at most, or somebody would get it twice.
  again_id uuid,
  created_at timestamptz not null,
  scheduled_at timestamptz,
  started_at timestamptz,
  served_at timestamptz,
  completed_at timestamptz,
  primary key (workspace_id, id)
);
create index broadcasts_scheduled on broadcasts (scheduled_at) where status = 'scheduled';
create index broadcasts_under_way on broadcasts (workspace_id, id) where completed_at is null and status <> 'scheduled';
-- A row is updated with every batch; no index says what changes then.
alter table broadcasts set (fillfactor = 50);

create table broadcast_recipients (
  workspace_id uuid not null,
  broadcast_id uuid not null,
  place integer not null,
  contact_id uuid,
  -- In E.164, or as it was given when it is no number; null for a contact without one.
  phone text,
  -- By which the channel knows the number's owner.
  identity text,
  name text,
  -- In place of those of the broadcast.
  params jsonb,
  status text not null check (status in ('pending', 'sending', 'sent', 'delivered', 'read', 'failed', 'skipped')),
  reason text,
  message_id uuid,
  attempt_count integer not null default 0,
  retry_at timestamptz,
  primary key (workspace_id, broadcast_id, place),
  foreign key (workspace_id, broadcast_id) references broadcasts (workspace_id, id) on delete cascade
);
create unique index broadcast_recipients_by_message on broadcast_recipients (workspace_id, message_id)
  where message_id is not null;
create index broadcast_recipients_to_retry on broadcast_recipients (workspace_id, broadcast_id, retry_at)
  where retry_at is not null;
-- No index says `status`: handed over, a row is updated within its page, three times.
alter table broadcast_recipients set (fillfactor = 70);

-- What became of the recipients, in parts that are added up when read: whoever moves recipients adds to one of them.
create table broadcast_counts (
  workspace_id uuid not null,
  broadcast_id uuid not null,
  shard integer not null,
  sent integer not null,
  delivered integer not null,
  read integer not null,
  failed integer not null,
  skipped integer not null,
  -- When somebody was last pending no more.
  settled_at timestamptz,
  primary key (workspace_id, broadcast_id, shard),
  foreign key (workspace_id, broadcast_id) references broadcasts (workspace_id, id) on delete cascade
) with (fillfactor = 50);

-- What a number may send: a bucket that fills at its rate, for all its broadcasts and every process.
create table broadcast_paces (
  workspace_id uuid not null,
  connection_id uuid not null,
  allowance double precision not null default 0,
  filled_at timestamptz not null,
  -- The rate it was brought down to, and when; it grows from there.
  rate double precision not null default 0,
  throttled_at timestamptz,
  primary key (workspace_id, connection_id),
  foreign key (workspace_id, connection_id) references channel_connections (workspace_id, id) on delete cascade
) with (fillfactor = 50);
