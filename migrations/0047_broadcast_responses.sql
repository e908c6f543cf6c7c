-- Runs without a transaction.
-- The funnel of a broadcast: who replied, tapped a button or opted out. Each statement may run again, and each locks one table.

alter table broadcast_recipients
  add column if not exists delivered_at timestamptz,
  add column if not exists read_at timestamptz;

comment on column broadcast_recipients.delivered_at is 'When the channel reported the delivery, by the clock of the database. Null in rows of earlier releases.';

comment on column broadcast_recipients.read_at is 'When the channel reported that the message was read, by the clock of the database.';

alter table broadcast_counts
  add column if not exists replied integer not null default 0,
  add column if not exists tapped integer not null default 0,
  add column if not exists opted_out integer not null default 0;

comment on table broadcast_counts is 'Counters of a broadcast in 16 shards, and its responses in 16 more; a read adds them up.';

create table if not exists broadcast_responses (
  workspace_id uuid not null,
  broadcast_id uuid not null,
  kind text not null check (kind in ('replied', 'tapped', 'opted_out')),
  place integer not null,
  at timestamptz not null,
  primary key (workspace_id, broadcast_id, kind, place),
  foreign key (workspace_id, broadcast_id) references broadcasts (workspace_id, id) on delete cascade
);

comment on table broadcast_responses is 'What recipients did within 72 hours of the delivery, each kind once.';

comment on column broadcast_responses.place is 'The index of the recipient in its broadcast.';

comment on column broadcast_responses.at is 'When the service received the first response of this kind.';

alter table conversations add column if not exists last_broadcast_message_id uuid;

comment on column conversations.last_broadcast_message_id is 'The last message of a broadcast. A customer''s message that quotes no other one is a response to it.';
