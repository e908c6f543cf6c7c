-- Counters of reports: figures per day and month, which change with the episodes.

-- The tables have no reference to workspaces: when a workspace is deleted, its episodes are deleted after it, and the triggers insert rows.
create table report_changes (
  workspace_id uuid not null,
  episode_id uuid not null
);
create index report_changes_by_workspace on report_changes (workspace_id, episode_id);
comment on table report_changes is 'Episodes that changed since they were counted. Append-only, so concurrent changes do not wait for each other.';

create table counted_episodes (
  workspace_id uuid not null,
  episode_id uuid not null,
  connection_id uuid,
  team_id uuid,
  member_id uuid,
  labels uuid[] not null,
  is_reopened boolean not null,
  replies integer not null,
  opened_at timestamptz not null,
  first_reply_at timestamptz,
  first_reply_by uuid,
  closed_at timestamptz,
  first_reply_s integer,
  closing_s integer,
  office_first_reply_s integer,
  office_closing_s integer,
  primary key (workspace_id, episode_id)
);
comment on table counted_episodes is 'Episodes as report_counts and report_histograms contain them: what a change subtracts before it adds the new values.';
comment on column counted_episodes.first_reply_at is 'Null if a member opened the episode: the customer waited for no reply.';

create table report_states (
  workspace_id uuid primary key,
  generation integer not null default 1,
  time_zone text not null,
  last_generation integer not null default 1,
  building_generation integer,
  building_time_zone text,
  built_until uuid,
  has_old_rows boolean not null default false
);
comment on table report_states is 'Which generation of counters a workspace reads, and the one that is being built for another time zone.';
comment on column report_states.built_until is 'The last episode that the new generation contains.';
comment on column report_states.has_old_rows is 'Rows of earlier generations are left to delete.';

create table report_counts (
  workspace_id uuid not null,
  generation integer not null,
  family text not null,
  period text not null,
  start date not null,
  key_1 uuid not null,
  key_2 uuid not null,
  opened integer not null,
  reopened integer not null,
  first_replies integer not null,
  closed integer not null,
  replies integer not null,
  first_reply_s bigint not null,
  closing_s bigint not null,
  office_first_replies integer not null,
  office_first_reply_s bigint not null,
  office_closings integer not null,
  office_closing_s bigint not null,
  primary key (workspace_id, generation, family, period, start, key_1, key_2),
  constraint report_counts_period_check check (period in ('day', 'month'))
) with (fillfactor = 70);
comment on table report_counts is 'Figures of reports per day and per month of the workspace''s time zone.';
comment on column report_counts.family is 'What the figures are counted by: all, team, member, connection, label, or two of them, such as team_member.';
comment on column report_counts.key_1 is 'The team, member, connection or label of the family. Zeros: none, or the family has no key.';
comment on column report_counts.first_reply_s is 'The sum of the times to the first reply, for means.';

create table report_histograms (
  workspace_id uuid not null,
  generation integer not null,
  family text not null,
  measure text not null,
  period text not null,
  start date not null,
  key_1 uuid not null,
  key_2 uuid not null,
  buckets integer[] not null,
  counts integer[] not null,
  primary key (workspace_id, generation, family, measure, period, start, key_1, key_2),
  constraint report_histograms_period_check check (period in ('day', 'month')),
  constraint report_histograms_measure_check check (measure in (
    'first_reply', 'closing', 'office_first_reply', 'office_closing', 'opened_hour', 'first_reply_hour', 'closed_hour'
  ))
) with (fillfactor = 70);
comment on table report_histograms is 'How many episodes have which time, in logarithmic buckets, and how many events are in which hour of the day.';
comment on column report_histograms.buckets is 'The buckets with episodes: 0 is zero seconds, n is from 1.035^(n-1) up to 1.035^n seconds. Of an hour: 0 to 23.';

create function note_changed_episode() returns trigger language plpgsql as $$
begin
  insert into report_changes (workspace_id, episode_id) values (coalesce(new.workspace_id, old.workspace_id), coalesce(new.id, old.id));
  return null;
end
$$;

create trigger report_inserted after insert on episodes for each row execute function note_changed_episode();
create trigger report_deleted after delete on episodes for each row execute function note_changed_episode();
create trigger report_updated after update on episodes for each row when (
  (old.conversation_id, old.connection_id, old.opened_at, old.opened_by, old.first_reply_at, old.first_reply_by, old.closed_at,
    old.replies, old.reopened_from, old.team_id, old.member_id, old.labels, old.office_first_reply_s, old.office_closing_s)
  is distinct from
  (new.conversation_id, new.connection_id, new.opened_at, new.opened_by, new.first_reply_at, new.first_reply_by, new.closed_at,
    new.replies, new.reopened_from, new.team_id, new.member_id, new.labels, new.office_first_reply_s, new.office_closing_s)
)
execute function note_changed_episode();

-- While an episode is open, it has the team, the member and the labels of its conversation.
create function note_assigned_episode() returns trigger language plpgsql as $$
begin
  insert into report_changes (workspace_id, episode_id) values (new.workspace_id, new.episode_id);
  return null;
end
$$;

create trigger report_assigned after update of team_id, assigned_agent_id on conversations for each row when (
  new.episode_id is not null
  and (old.team_id, old.assigned_agent_id) is distinct from (new.team_id, new.assigned_agent_id)
)
execute function note_assigned_episode();
