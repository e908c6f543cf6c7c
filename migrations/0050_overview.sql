-- The overview in the time zone of the workspace: its setting, and counters that fit the days of every zone.
alter table workspaces add column time_zone text not null default 'UTC';
comment on column workspaces.time_zone is 'IANA name, such as Europe/Berlin. Days of the overview and of the audit log begin at midnight there.';

create table message_periods (
  workspace_id uuid not null references workspaces on delete cascade,
  at timestamptz not null,
  channel text not null,
  inbound integer not null,
  outbound integer not null,
  answers integer not null,
  answer_seconds bigint not null,
  within_five_minutes integer not null,
  within_one_hour integer not null,
  within_one_day integer not null,
  primary key (workspace_id, at, channel)
) with (fillfactor = 80);
comment on table message_periods is 'Messages and answer times per quarter of an hour and channel. All time zones have whole quarters.';
comment on column message_periods.at is 'The begin of the quarter.';
comment on table message_days is
  'Messages and answer times per day (UTC) and channel, counted by release 0.1.0. A read adds them to message_periods, at noon.';
