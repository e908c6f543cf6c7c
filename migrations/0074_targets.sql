-- Targets: the times in which customers should get a reply, the clocks of open episodes, and what came late.

create table targets (
  workspace_id uuid not null references workspaces on delete cascade,
  id uuid not null,
  name text not null,
  name_key text not null,
  position integer not null,
  is_active boolean not null default true,
  is_office_time boolean not null default false,
  conditions jsonb,
  first_reply_minutes integer,
  next_reply_minutes integer,
  closing_minutes integer,
  created_at timestamptz not null,
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  primary key (workspace_id, id)
);
create unique index targets_name_unique on targets (workspace_id, name_key) where deleted_at is null;
comment on table targets is 'Service level targets, in the order of their positions. The first active one whose conditions match a conversation applies to it.';
comment on column targets.is_office_time is 'The minutes count in office hours only.';
comment on column targets.conditions is 'A filter over the contact and the conversation. Null: all conversations.';
comment on column targets.deleted_at is 'The row stays, because reports name the target of past outcomes.';

create table target_workspaces (
  workspace_id uuid primary key references workspaces on delete cascade,
  is_active boolean not null,
  is_requested boolean not null default false,
  ready_after xid8,
  filled_up_to uuid
) with (fillfactor = 50);
create index target_workspaces_to_recompute on target_workspaces (workspace_id) where is_requested or ready_after is not null;
comment on table target_workspaces is 'Workspaces that have or had targets. The trigger of conversations reads it.';
comment on column target_workspaces.is_active is 'It has an active target: changes of conversations are queued.';
comment on column target_workspaces.is_requested is 'The clocks of all open episodes are to be computed again.';
comment on column target_workspaces.ready_after is 'They are queued when all transactions before this one have ended, because those may not have queued their changes.';
comment on column target_workspaces.filled_up_to is 'The conversation up to which they are queued.';

create table target_changes (
  workspace_id uuid not null,
  id bigint generated always as identity,
  conversation_id uuid not null,
  episode_id uuid,
  at timestamptz not null,
  is_open boolean,
  waiting_since timestamptz,
  is_with_bot boolean,
  has_replied boolean,
  primary key (workspace_id, id)
);
create index target_changes_of_conversation on target_changes (workspace_id, conversation_id, id);
comment on table target_changes is 'Changes of conversations that the clocks follow, in their order. Written by triggers, so that no statement can forget it.';
comment on column target_changes.episode_id is 'Null: the target that applies, or its time, may have changed. The facts of the conversation have not.';

create table target_episodes (
  workspace_id uuid not null,
  episode_id uuid not null,
  track jsonb not null,
  primary key (workspace_id, episode_id),
  constraint target_episodes_episode_fkey foreign key (workspace_id, episode_id) references episodes (workspace_id, id) on delete cascade
) with (fillfactor = 70);
comment on table target_episodes is 'When the customer waited for a member in each open episode, for the clocks of any target (server/targets/policy.ts).';

create table target_clocks (
  workspace_id uuid not null,
  episode_id uuid not null,
  target_id uuid not null,
  kind text not null,
  started_at timestamptz not null,
  due_at timestamptz,
  next_at timestamptz,
  reminded_minutes integer[] not null default '{}',
  breached_at timestamptz,
  outcome text,
  ended_at timestamptz,
  primary key (workspace_id, episode_id, target_id, kind),
  constraint target_clocks_kind_check check (kind in ('first_reply', 'next_reply', 'closing')),
  constraint target_clocks_outcome_check check (outcome in ('met', 'missed')),
  constraint target_clocks_episode_fkey foreign key (workspace_id, episode_id) references episodes (workspace_id, id) on delete cascade
) with (fillfactor = 70);
create index target_clocks_next on target_clocks (next_at) where next_at is not null;
create index target_clocks_next_of_workspace on target_clocks (workspace_id, next_at) where next_at is not null;
create index target_clocks_ended on target_clocks (workspace_id, ended_at) where ended_at is not null;
create index target_clocks_breached on target_clocks (workspace_id, breached_at) where breached_at is not null;
comment on table target_clocks is 'What each target asks of an episode, and the outcome. One row per episode, target and kind, so a breach is recorded once.';
comment on column target_clocks.started_at is 'Of next_reply: the start of the last wait.';
comment on column target_clocks.due_at is 'When the time runs out, or ran out. Null while the clock is paused.';
comment on column target_clocks.next_at is 'When the worker acts next: at the breach, or when an automation reacts before it. Null: not before a change.';
comment on column target_clocks.reminded_minutes is 'Automations that react so many minutes before the breach have been started.';
comment on column target_clocks.breached_at is 'When the time ran out first.';
comment on column target_clocks.outcome is 'Null while it is not decided. Of next_reply: missed if any wait of the episode was too long.';
comment on column target_clocks.ended_at is 'When the reply was sent or the episode was closed. Of next_reply: the last reply.';

alter table conversations
  add column due_at timestamptz,
  add column due_kind text;
comment on column conversations.due_at is 'The earliest due time of its running clocks. It has no meaning while no customer waits for a member. Written by server/targets.';
comment on column conversations.due_kind is 'What is due then: first_reply, next_reply or closing.';

-- Queues a change if the workspace has active targets. For the other workspaces it is one look-up in a small table, and only where a
-- wait or an episode begins or ends.
create function queue_target_change() returns trigger language plpgsql as $$
begin
  if old.due_at is null and not exists (
    select from target_workspaces w where w.workspace_id = new.workspace_id and w.is_active
  ) then
    return null;
  end if;
  if old.episode_id <> new.episode_id or (old.episode_id is not null and new.episode_id is null) then
    insert into target_changes (workspace_id, conversation_id, episode_id, at, is_open, is_with_bot, has_replied)
    values (new.workspace_id, new.id, old.episode_id, clock_timestamp(), false, false, old.episode_replies > 0);
  end if;
  if new.episode_id is not null then
    insert into target_changes (workspace_id, conversation_id, episode_id, at, is_open, waiting_since, is_with_bot, has_replied)
    values (
      new.workspace_id, new.id, new.episode_id, clock_timestamp(), true,
      case when new.status <> 'closed' then new.waiting_since end, new.bot_run_id is not null, new.episode_replies > 0
    );
  end if;
  return null;
end $$;
-- After the statement, as the other triggers of this table.
create trigger queue_target_change after update on conversations for each row
when (
  old.episode_id is distinct from new.episode_id
  or (new.episode_id is not null and (
    old.waiting_since is distinct from new.waiting_since
    or (old.status = 'closed') <> (new.status = 'closed')
    or (old.bot_run_id is null) <> (new.bot_run_id is null)
    or (old.episode_replies = 0) <> (new.episode_replies = 0)
    or old.team_id is distinct from new.team_id
    or old.assigned_agent_id is distinct from new.assigned_agent_id
    or old.contact_id <> new.contact_id
  ))
)
execute function queue_target_change();

-- The label of a conversation may be a condition of a target.
create function queue_target_label() returns trigger language plpgsql as $$
declare
  changed conversation_labels := coalesce(new, old);
begin
  insert into target_changes (workspace_id, conversation_id, at)
  select changed.workspace_id, changed.conversation_id, clock_timestamp()
  from target_workspaces w where w.workspace_id = changed.workspace_id and w.is_active;
  return null;
end $$;

-- Requests that all clocks of a workspace are computed again, because something that they depend on has changed.
create function recompute_targets(changed_workspace uuid) returns void language sql as $$
  update target_workspaces set is_requested = true
  where workspace_id = changed_workspace and (is_active or is_requested)
$$;
