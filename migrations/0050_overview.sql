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
) with (fillfactor = 50);
comment on table message_periods is
  'Messages and answer times per quarter of an hour and channel, kept for 200 days. All time zones have whole quarters.';
comment on column message_periods.at is 'The begin of the quarter. The counters of days before this table was created are at noon (UTC).';

insert into message_periods (workspace_id, at, channel, inbound, outbound, answers, answer_seconds, within_five_minutes,
  within_one_hour, within_one_day)
select workspace_id, (day + time '12:00') at time zone 'utc', channel, inbound, outbound, answers, answer_seconds,
  within_five_minutes, within_one_hour, within_one_day
from message_days
where day > now() - interval '200 days';
