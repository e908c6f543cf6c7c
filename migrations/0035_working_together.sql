-- What a team shares in a conversation: who has it open, notes, mentions, and lines about what happened to it.
create unlogged table member_presence (
  workspace_id uuid not null,
  member_id uuid not null,
  page_id uuid not null,
  conversation_id uuid,
  typing text check (typing in ('reply', 'note')),
  seen_at timestamptz not null,
  primary key (workspace_id, member_id, page_id)
) with (fillfactor = 50);
comment on table member_presence is 'Open pages of members. Unlogged and without foreign keys, so that a heartbeat writes no log.';
comment on column member_presence.page_id is 'Chosen by the page when it loads.';
comment on column member_presence.seen_at is 'The last heartbeat. The row expires 30 seconds later.';

create table timeline_entries (
  workspace_id uuid not null,
  conversation_id uuid not null,
  id uuid not null,
  kind text not null check (kind in ('note', 'status', 'assigned', 'labeled', 'snoozed')),
  member_id uuid,
  text text,
  details jsonb not null default '{}',
  created_at timestamptz not null,
  primary key (workspace_id, conversation_id, id),
  foreign key (workspace_id, conversation_id) references conversations (workspace_id, id) on delete cascade,
  check ((kind = 'note') = (text is not null))
);
comment on table timeline_entries is 'Everything in a thread that is not a message: notes of members, and changes of the conversation.';
comment on column timeline_entries.member_id is 'The author. Null when a customer, the API or a timer caused the change. Kept when the member is removed.';

create table mentions (
  workspace_id uuid not null,
  member_id uuid not null,
  id uuid not null,
  conversation_id uuid not null,
  read_at timestamptz,
  primary key (workspace_id, member_id, id),
  foreign key (workspace_id, member_id) references members (workspace_id, id) on delete cascade,
  foreign key (workspace_id, conversation_id, id) references timeline_entries (workspace_id, conversation_id, id) on delete cascade
);
comment on table mentions is 'Members that a note mentions, and when they read it.';
comment on column mentions.id is 'The id of the note.';
create index mentions_by_note on mentions (workspace_id, conversation_id, id);
create index mentions_unread on mentions (workspace_id, member_id, id) where read_at is null;
