-- What is read off every message once, in order of id, by one loop: the words it is found by, the day it counts in, and
-- who waits for an answer.
create index messages_by_id on messages (id);

-- How far that loop has got.
create table message_digest (
  is_only boolean primary key default true check (is_only),
  -- Messages up to here were read, those that came late among them.
  position uuid not null,
  -- When all behind the position were last looked at.
  looked_back_at timestamptz not null,
  slice_count integer not null
);
insert into message_digest (position, looked_back_at, slice_count)
values ('00000000-0000-0000-0000-000000000000', timestamptz 'epoch', 0);

-- A row is a message that was read; each word has the number of its slice before it.
create table message_words (
  workspace_id uuid not null,
  conversation_id uuid not null,
  id uuid not null,
  words tsvector,
  primary key (workspace_id, conversation_id, id),
  foreign key (workspace_id, conversation_id) references conversations (workspace_id, id) on delete cascade
);
-- A list of what is not in order yet would be read whole by every search, once a slice.
create index message_words_by_word on message_words using gin (words) with (fastupdate = off);

-- Stretches of a workspace's messages by id, each begun when the one before was full.
create table message_slices (
  workspace_id uuid not null references workspaces (id) on delete cascade,
  from_id uuid not null,
  slice integer not null,
  last_id uuid not null,
  message_count integer not null,
  primary key (workspace_id, from_id)
) with (fillfactor = 50);

-- Messages of a day (UTC) on a channel, and how long those who were answered on it had waited.
create table message_days (
  workspace_id uuid not null references workspaces (id) on delete cascade,
  day date not null,
  channel text not null,
  inbound integer not null,
  outbound integer not null,
  answers integer not null,
  answer_seconds bigint not null,
  within_five_minutes integer not null,
  within_one_hour integer not null,
  within_one_day integer not null,
  primary key (workspace_id, day, channel)
) with (fillfactor = 50);

-- Conversations in which a customer waits for an answer, and since when.
create table message_waits (
  workspace_id uuid not null,
  conversation_id uuid not null,
  since timestamptz not null,
  primary key (workspace_id, conversation_id),
  foreign key (workspace_id, conversation_id) references conversations (workspace_id, id) on delete cascade
);

-- Messages to read again, since their text was changed, or out of order, since their id is from before.
create table message_revisits (
  workspace_id uuid not null references workspaces (id) on delete cascade,
  id uuid not null default gen_random_uuid(),
  message_id uuid not null,
  created_at timestamptz not null default now(),
  primary key (workspace_id, id)
);

-- What became of the messages sent on a day, in parts that are added up when read: whoever moves messages adds to one.
create table message_outcomes (
  workspace_id uuid not null references workspaces (id) on delete cascade,
  day date not null,
  shard integer not null,
  sent integer not null,
  delivered integer not null,
  read integer not null,
  failed integer not null,
  primary key (workspace_id, day, shard)
) with (fillfactor = 50);
insert into message_outcomes (workspace_id, day, shard, sent, delivered, read, failed)
select workspace_id, (created_at at time zone 'utc')::date, 0, count(*) filter (where status in ('sent', 'delivered', 'read')),
  count(*) filter (where status in ('delivered', 'read')), count(*) filter (where status = 'read'),
  count(*) filter (where status = 'failed')
from messages
where direction = 'outbound' and status <> 'pending' and created_at > now() - interval '100 days'
group by 1, 2;
