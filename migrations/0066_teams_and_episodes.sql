-- Teams, and episodes: the stretches of work of a conversation, from the message that opens one to its closing.

create table teams (
  workspace_id uuid not null references workspaces on delete cascade,
  id uuid not null,
  name text not null,
  name_key text not null,
  color text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null default now(),
  primary key (workspace_id, id),
  constraint teams_name_unique unique (workspace_id, name_key)
);
comment on table teams is 'Groups of members who answer conversations together.';

create table team_members (
  workspace_id uuid not null,
  team_id uuid not null,
  member_id uuid not null,
  primary key (workspace_id, team_id, member_id),
  foreign key (workspace_id, team_id) references teams (workspace_id, id) on delete cascade,
  foreign key (workspace_id, member_id) references members (workspace_id, id) on delete cascade
);
create index team_members_by_member on team_members (workspace_id, member_id);
comment on table team_members is 'Which members are in a team.';

create table team_connections (
  workspace_id uuid not null,
  connection_id uuid not null,
  team_id uuid not null,
  primary key (workspace_id, connection_id),
  foreign key (workspace_id, connection_id) references channel_connections (workspace_id, id) on delete cascade,
  foreign key (workspace_id, team_id) references teams (workspace_id, id) on delete cascade
);
create index team_connections_by_team on team_connections (workspace_id, team_id);
comment on table team_connections is 'The team that serves a connection: an episode that opens there without a team gets this one.';

create table episodes (
  workspace_id uuid not null,
  id uuid not null,
  conversation_id uuid not null,
  connection_id uuid,
  opened_at timestamptz not null,
  opened_by text not null,
  first_assigned_at timestamptz,
  first_reply_at timestamptz,
  first_reply_by uuid,
  replies integer not null default 0,
  customer_messages integer not null default 0,
  closed_at timestamptz,
  closed_by text,
  closed_by_id uuid,
  reopened_from uuid,
  team_id uuid,
  member_id uuid,
  labels uuid[] not null default '{}',
  updated_at timestamptz not null default now(),
  primary key (workspace_id, id),
  constraint episodes_conversation_fkey
    foreign key (workspace_id, conversation_id) references conversations (workspace_id, id) on delete cascade,
  constraint episodes_opened_by_check check (opened_by in ('customer', 'member')),
  constraint episodes_closed_by_check check (closed_by in ('member', 'automation', 'api', 'silence', 'block'))
) with (fillfactor = 80);
create unique index episodes_open on episodes (workspace_id, conversation_id) where closed_at is null;
create index episodes_of_conversation on episodes (workspace_id, conversation_id, opened_at, id);
create index episodes_by_change on episodes (workspace_id, updated_at, id);
create index episodes_by_opening on episodes (workspace_id, opened_at, id);
create index episodes_by_closing on episodes (workspace_id, closed_at, id) where closed_at is not null;

comment on table episodes is 'Stretches of work in a conversation, from the message that opens one to its closing. At most one of a conversation is open.';
comment on column episodes.id is 'The id of the message that opened it.';
comment on column episodes.first_reply_at is 'Of a member. Messages of bots, broadcasts and API keys are no reply.';
comment on column episodes.replies is 'Replies of members. While the episode is open, conversations.episode_replies has the number.';
comment on column episodes.customer_messages is 'While the episode is open, conversations.episode_messages has the number.';
comment on column episodes.closed_by_id is 'The member, the API key or the run of the automation that closed it. It may not exist any more.';
comment on column episodes.reopened_from is 'The episode before, if it was closed less than 24 hours before this one opened.';
comment on column episodes.team_id is 'The team of the conversation when the episode closed; while it is open, the conversation has it. So are member_id and labels.';

alter table conversations
  add column team_id uuid,
  add column episode_id uuid,
  add column episode_messages integer not null default 0,
  add column episode_replies integer not null default 0;
alter table conversations
  add constraint conversations_team_fkey foreign key (workspace_id, team_id) references teams (workspace_id, id)
    on delete set null (team_id) not valid;
comment on column conversations.team_id is 'The team that it is assigned to.';
comment on column conversations.episode_id is 'The open episode.';
comment on column conversations.episode_messages is 'Messages of the customer in the open episode: counted here, because each message changes this row anyway.';
comment on column conversations.episode_replies is 'Replies of members in the open episode.';
