-- Availability of members, policies of teams, and the requests that wake the assignment engine.

alter table teams
  add column policy text not null default 'none',
  add column return_minutes integer,
  add column last_assigned_id uuid,
  add constraint teams_policy_check check (policy in ('none', 'round_robin', 'fewest_open')),
  add constraint teams_return_minutes_check check (return_minutes between 1 and 1440);
create index teams_that_return on teams (workspace_id, id) where return_minutes is not null;
comment on column teams.policy is 'How its queue is assigned to members: not at all, in turn, or to the member with the fewest open conversations.';
comment on column teams.return_minutes is 'Conversations of a member who is offline return to the queue when the customer has waited for this long. Null: they stay.';
comment on column teams.last_assigned_id is 'The member who got the last conversation: the turn of round robin. The member may not exist any more.';

create table member_availability (
  workspace_id uuid not null,
  member_id uuid not null,
  state text not null default 'offline',
  is_away_chosen boolean not null default false,
  capacity integer not null default 20,
  changed_at timestamptz not null default now(),
  seen_at timestamptz,
  input_at timestamptz,
  primary key (workspace_id, member_id),
  foreign key (workspace_id, member_id) references members (workspace_id, id) on delete cascade,
  constraint member_availability_state_check check (state in ('available', 'away', 'offline')),
  constraint member_availability_capacity_check check (capacity between 0 and 200)
) with (fillfactor = 70);
-- Few members are online. seen_at and input_at are in no index, so a heartbeat is a HOT update.
create index member_availability_online on member_availability (workspace_id, member_id) where state <> 'offline';
comment on table member_availability is 'Whether members are available, and how many conversations each gets. A member without a row has never opened the dashboard. Its row is the lock of the capacity.';
comment on column member_availability.is_away_chosen is 'The member chose to be away, until the member chooses to be available.';
comment on column member_availability.capacity is 'The engine assigns no conversation to a member with this many that are open and not with the bot.';
comment on column member_availability.changed_at is 'Since when the member is in this state.';
comment on column member_availability.seen_at is 'When a process last had an open stream of the member. Each process reports it as a heartbeat.';
comment on column member_availability.input_at is 'When a page last reported input of the member.';

create table availability_spans (
  workspace_id uuid not null,
  member_id uuid not null,
  started_at timestamptz not null,
  ended_at timestamptz,
  state text not null,
  is_chosen boolean not null default false,
  primary key (workspace_id, member_id, started_at),
  foreign key (workspace_id, member_id) references members (workspace_id, id) on delete cascade,
  constraint availability_spans_state_check check (state in ('available', 'away'))
);
create unique index availability_spans_open on availability_spans (workspace_id, member_id) where ended_at is null;
create index availability_spans_by_start on availability_spans (workspace_id, started_at);
comment on table availability_spans is 'The history of availability, for reports. A member is offline between the spans.';
comment on column availability_spans.ended_at is 'Null: the member is in this state now.';
comment on column availability_spans.is_chosen is 'Away: the member chose it. Otherwise there was no input.';

create function record_availability() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and old.state <> 'offline' then
    update availability_spans set ended_at = greatest(new.changed_at, started_at)
    where workspace_id = new.workspace_id and member_id = new.member_id and ended_at is null;
  end if;
  if new.state <> 'offline' then
    insert into availability_spans (workspace_id, member_id, started_at, state, is_chosen)
    values (new.workspace_id, new.member_id, new.changed_at, new.state, new.state = 'away' and new.is_away_chosen)
    on conflict (workspace_id, member_id, started_at)
      do update set state = excluded.state, is_chosen = excluded.is_chosen, ended_at = null;
  end if;
  return null;
end;
$$;
create trigger record_inserted after insert on member_availability
  for each row when (new.state <> 'offline') execute function record_availability();
create trigger record_updated after update of state, is_away_chosen on member_availability
  for each row when (
    old.state <> new.state or (new.state = 'away' and old.is_away_chosen <> new.is_away_chosen)
  ) execute function record_availability();

-- Each row is a reason to look at the queue of a team. Rows are only inserted and deleted, so concurrent changes do not wait for each other.
create table assignment_requests (
  id bigint generated always as identity primary key,
  workspace_id uuid not null,
  team_id uuid not null
);
create index assignment_requests_of_team on assignment_requests (workspace_id, team_id);
comment on table assignment_requests is 'Teams whose queue or whose members'' capacity changed. Written by triggers, deleted by the engine in the transaction that assigns.';

create function request_assignment(workspace uuid, team uuid, member uuid) returns void language sql as $$
  insert into assignment_requests (workspace_id, team_id)
  select t.workspace_id, t.id from teams t
  where t.workspace_id = workspace and t.policy <> 'none' and (
    t.id = team
    or t.id in (select tm.team_id from team_members tm where tm.workspace_id = workspace and tm.member_id = member)
  );
$$;

-- A conversation came into a queue, or a member has one open conversation less.
create function request_for_conversation() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    perform request_assignment(old.workspace_id, null, old.assigned_agent_id);
  else
    perform request_assignment(
      new.workspace_id,
      case when new.assigned_agent_id is null then new.team_id end,
      case when old.status = 'open' and old.bot_run_id is null then old.assigned_agent_id end
    );
  end if;
  return null;
end;
$$;
create trigger request_updated after update of status, assigned_agent_id, team_id, bot_run_id, blocked_at, inbox_at on conversations
  for each row when (
    (
      new.team_id is not null and new.assigned_agent_id is null and new.status = 'open' and new.inbox_at is not null
      and new.bot_run_id is null and new.blocked_at is null and (
        old.team_id is distinct from new.team_id or old.assigned_agent_id is not null or old.status <> 'open'
        or old.inbox_at is null or old.bot_run_id is not null or old.blocked_at is not null
      )
    ) or (
      old.assigned_agent_id is not null and old.status = 'open' and old.bot_run_id is null and (
        new.assigned_agent_id is distinct from old.assigned_agent_id or new.status <> 'open' or new.bot_run_id is not null
      )
    )
  ) execute function request_for_conversation();
create trigger request_deleted after delete on conversations
  for each row when (old.assigned_agent_id is not null and old.status = 'open') execute function request_for_conversation();

-- A member is available, or has a higher capacity.
create function request_for_member() returns trigger language plpgsql as $$
begin
  perform request_assignment(new.workspace_id, null, new.member_id);
  return null;
end;
$$;
create trigger request_inserted after insert on member_availability
  for each row when (new.state = 'available') execute function request_for_member();
create trigger request_updated after update of state, capacity on member_availability
  for each row when (
    new.state = 'available' and (old.state <> 'available' or new.capacity > old.capacity)
  ) execute function request_for_member();
create trigger request_joined after insert on team_members
  for each row execute function request_for_member();

-- A policy was switched on.
create function request_for_team() returns trigger language plpgsql as $$
begin
  perform request_assignment(new.workspace_id, new.id, null);
  return null;
end;
$$;
create trigger request_policy after update of policy on teams
  for each row when (new.policy <> 'none' and old.policy <> new.policy) execute function request_for_team();
