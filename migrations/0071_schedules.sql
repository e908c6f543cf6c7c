-- Office hours: schedules, and what uses which schedule. A team's comes before that of the connection, and that before the workspace's.

create table schedules (
  workspace_id uuid not null references workspaces on delete cascade,
  id uuid not null,
  name text not null,
  name_key text not null,
  time_zone text not null,
  periods jsonb not null,
  holidays jsonb not null,
  created_at timestamptz not null,
  updated_at timestamptz not null default now(),
  primary key (workspace_id, id),
  constraint schedules_name_unique unique (workspace_id, name_key)
);
comment on table schedules is 'Office hours of workspaces, teams and connections.';
comment on column schedules.time_zone is 'IANA name.';
comment on column schedules.periods is 'Weekly periods in local time, sorted: [{ day, from, to }]. Day 0 is Monday, `to` may be 24:00.';
comment on column schedules.holidays is 'Local dates on which it is closed, sorted: [{ date, name }].';

alter table workspaces add column schedule_id uuid;
alter table workspaces
  add constraint workspaces_schedule_fkey foreign key (id, schedule_id) references schedules (workspace_id, id)
    on delete set null (schedule_id) not valid;
comment on column workspaces.schedule_id is 'The office hours of teams and connections without a schedule of their own. Null: always open.';

alter table teams add column schedule_id uuid;
alter table teams
  add constraint teams_schedule_fkey foreign key (workspace_id, schedule_id) references schedules (workspace_id, id)
    on delete set null (schedule_id) not valid;
comment on column teams.schedule_id is 'Its office hours. Null: those of the connection, or of the workspace.';

alter table channel_connections add column schedule_id uuid;
alter table channel_connections
  add constraint channel_connections_schedule_fkey
    foreign key (workspace_id, schedule_id) references schedules (workspace_id, id)
    on delete set null (schedule_id) not valid;
comment on column channel_connections.schedule_id is 'Its office hours. Null: those of the workspace.';
