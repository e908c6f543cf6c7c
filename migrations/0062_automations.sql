-- Automations: definitions, the changes that may start one, runs, and what each step of a run did.

alter table workspaces add column automation_kinds text[] not null default '{}';
comment on column workspaces.automation_kinds is 'The kinds of changes that its automations wait for. Statements queue only these in automation_triggers.';

create index workspaces_with_automations on workspaces (id) where automation_kinds <> '{}';

create table automations (
  workspace_id uuid not null references workspaces on delete cascade,
  id uuid not null,
  name text not null,
  description text not null default '',
  state text not null default 'draft' check (state in ('draft', 'active', 'paused')),
  position integer not null,
  draft text,
  version integer not null default 0,
  kind text,
  has_questions boolean not null default false,
  secret text not null,
  checked_until timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (workspace_id, id)
);
comment on table automations is 'Rules and bots of a workspace, in the order of their positions.';
comment on column automations.draft is 'The definition that a member edits. Null: there are no changes since the newest version. JSON, whose bytes are kept.';
comment on column automations.version is 'The newest version, which new runs use. 0: never published.';
comment on column automations.kind is 'The type of the trigger of the newest version.';
comment on column automations.has_questions is 'Whether a published version asks questions, so that messages may be answers.';
comment on column automations.secret is 'Signs its calls to URLs. Sealed.';
comment on column automations.checked_until is 'Of an automation that waits for silence: conversations up to this time were checked.';

create table automation_versions (
  workspace_id uuid not null,
  automation_id uuid not null,
  version integer not null,
  definition text not null,
  published_at timestamptz not null,
  published_by uuid,
  primary key (workspace_id, automation_id, version),
  foreign key (workspace_id, automation_id) references automations (workspace_id, id) on delete cascade
);
comment on table automation_versions is 'Published definitions, as JSON. They never change: a run keeps the version with which it started.';
comment on column automation_versions.published_by is 'The member. Null: an API key.';

create table automation_triggers (
  workspace_id uuid not null references workspaces on delete cascade,
  id uuid not null,
  kind text not null,
  event text not null,
  detail text,
  contact_id uuid not null,
  conversation_id uuid,
  message_id uuid,
  depth smallint not null default 0,
  primary key (workspace_id, id)
);
comment on table automation_triggers is 'Changes that may start an automation, until that is decided. Written by the statement that makes the change.';
comment on column automation_triggers.detail is 'The name of the label, tag or attribute. Of a message: opens, if no earlier one is in the open conversation.';
comment on column automation_triggers.depth is 'How many automations caused one another before this change.';

create table automation_runs (
  workspace_id uuid not null,
  id uuid not null,
  automation_id uuid not null,
  version integer not null,
  contact_id uuid not null,
  conversation_id uuid,
  cause text not null,
  message_id uuid,
  depth smallint not null default 0,
  has_questions boolean not null,
  state text not null check (state in ('running', 'waiting', 'ended')),
  reason text,
  error text,
  ended_by uuid,
  position text not null,
  tries integer not null default 0,
  send_id uuid,
  asked_id uuid,
  variables jsonb not null default '{}',
  due_at timestamptz,
  timeout_at timestamptz,
  lease_id uuid,
  leased_until timestamptz,
  started_at timestamptz not null,
  ended_at timestamptz,
  primary key (workspace_id, id),
  foreign key (workspace_id, automation_id, version)
    references automation_versions (workspace_id, automation_id, version) on delete cascade,
  foreign key (workspace_id, contact_id) references contacts (workspace_id, id) on delete cascade,
  foreign key (workspace_id, conversation_id) references conversations (workspace_id, id) on delete cascade
) with (fillfactor = 70);
comment on table automation_runs is 'Runs of automations. A step takes effect, is logged and moves the run in one transaction.';
comment on column automation_runs.cause is 'What started it: one run per automation and cause.';
comment on column automation_runs.message_id is 'The message of the customer that started it.';
comment on column automation_runs.position is 'The step to execute, or the question whose answer it waits for.';
comment on column automation_runs.tries is 'Answers to the question that were not understood, or failed calls.';
comment on column automation_runs.send_id is 'The id of the message that the step sends: a repeat after a crash finds that message.';
comment on column automation_runs.asked_id is 'The last message of the question. Later messages of the customer answer it.';
comment on column automation_runs.due_at is 'When to continue. Null: not before an answer.';
comment on column automation_runs.timeout_at is 'When the question is given up.';
comment on column automation_runs.lease_id is 'The worker that executes it, until leased_until.';
create unique index automation_runs_of_cause on automation_runs (workspace_id, automation_id, cause);
create index automation_runs_of_automation on automation_runs (workspace_id, automation_id, id);
create index automation_runs_due on automation_runs (workspace_id, due_at) where state <> 'ended';
create index automation_runs_open on automation_runs (workspace_id, conversation_id) where state <> 'ended';
create index automation_runs_of_conversation on automation_runs (workspace_id, conversation_id, id);
create index automation_runs_of_contact on automation_runs (workspace_id, contact_id);

create table automation_steps (
  workspace_id uuid not null,
  run_id uuid not null,
  id uuid not null,
  path text not null,
  type text not null,
  outcome text not null,
  reason text,
  input jsonb,
  message_id uuid,
  created_at timestamptz not null,
  primary key (workspace_id, run_id, id)
) partition by range (id);
create table automation_steps_rest partition of automation_steps default;
comment on table automation_steps is 'What each step of a run did, in partitions of one day. Kept for 90 days.';

-- The run with questions of a conversation, and the run that sent a message.
alter table conversations add column bot_run_id uuid;
comment on column conversations.bot_run_id is 'The open run with questions: the conversation is with the bot.';
alter table messages add column run_id uuid;
comment on column messages.run_id is 'The run of an automation that sent it.';

-- A conversation that is with the bot waits for no member, so it does not count as unassigned.
create or replace function count_inbox() returns trigger language plpgsql as $$
declare
  was_open boolean := old.inbox_at is not null and old.status = 'open';
  is_open boolean := new.inbox_at is not null and new.status = 'open';
begin
  insert into inbox_counts (workspace_id, connection_id, open, unassigned) values (
    coalesce(new.workspace_id, old.workspace_id),
    coalesce(new.connection_id, old.connection_id),
    is_open::int - was_open::int,
    (is_open and new.assigned_agent_id is null and new.bot_run_id is null)::int
      - (was_open and old.assigned_agent_id is null and old.bot_run_id is null)::int
  );
  return null;
end
$$;
create or replace trigger count_updated
  after update of inbox_at, status, assigned_agent_id, bot_run_id on conversations
  for each row when (
    (old.inbox_at is not null and old.status = 'open') is distinct from (new.inbox_at is not null and new.status = 'open')
    or (old.assigned_agent_id is null) is distinct from (new.assigned_agent_id is null)
    or (old.bot_run_id is null) is distinct from (new.bot_run_id is null)
  ) execute function count_inbox();
