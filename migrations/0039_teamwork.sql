-- What a team shares: labels, saved views, canned replies, who has a conversation open, notes, mentions; and the drafts of a member.

create table labels (
  workspace_id uuid not null references workspaces (id) on delete cascade,
  id uuid not null,
  name text not null,
  name_key text not null,
  color text not null,
  created_at timestamptz not null,
  primary key (workspace_id, id),
  constraint labels_name_unique unique (workspace_id, name_key)
);
comment on table labels is 'Labels that members give to conversations. A name is unique without regard to case.';

create table inbox_views (
  workspace_id uuid not null references workspaces (id) on delete cascade,
  id uuid not null,
  member_id uuid,
  name text not null,
  filters jsonb not null,
  created_at timestamptz not null,
  primary key (workspace_id, id),
  foreign key (workspace_id, member_id) references members on delete cascade
);
comment on table inbox_views is 'Saved filters of the inbox. Without a member: shared with all members.';
create index inbox_views_of_member on inbox_views (workspace_id, member_id);

create table canned_replies (
  workspace_id uuid not null references workspaces (id) on delete cascade,
  id uuid not null,
  member_id uuid,
  shortcut text not null,
  shortcut_key text not null,
  text text not null,
  upload_ids uuid[] not null default '{}',
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (workspace_id, id),
  constraint canned_replies_member_fkey foreign key (workspace_id, member_id)
    references members (workspace_id, id) on delete cascade,
  constraint canned_replies_shortcut_unique unique nulls not distinct (workspace_id, member_id, shortcut_key)
);
comment on table canned_replies is 'Prepared replies that members insert by a shortcut.';
comment on column canned_replies.member_id is 'The only member who sees it; null: all members of the workspace.';
comment on column canned_replies.shortcut_key is 'The shortcut, case-folded.';
comment on column canned_replies.upload_ids is 'The attached files, in order.';

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

-- The tables below refer to conversations. They come last: this lock delays new messages.

create table conversation_labels (
  workspace_id uuid not null,
  conversation_id uuid not null,
  label_id uuid not null,
  primary key (workspace_id, conversation_id, label_id),
  foreign key (workspace_id, conversation_id) references conversations on delete cascade,
  foreign key (workspace_id, label_id) references labels on delete cascade
);
comment on table conversation_labels is 'Which labels a conversation has.';
create index conversation_labels_by_label on conversation_labels (workspace_id, label_id, conversation_id);

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
  -- Merging two contacts moves a note with its mentions. The reference is then checked at the commit.
  foreign key (workspace_id, conversation_id, id) references timeline_entries (workspace_id, conversation_id, id) on delete cascade deferrable
);
comment on table mentions is 'Members that a note mentions, and when they read it.';
comment on column mentions.id is 'The id of the note.';
create index mentions_by_note on mentions (workspace_id, conversation_id, id);
create index mentions_unread on mentions (workspace_id, member_id, id) where read_at is null;

-- The unsent text of a member in a conversation. Only that member sees it, in all their browsers.
create table drafts (
  workspace_id uuid not null,
  member_id uuid not null,
  conversation_id uuid not null,
  text text not null,
  updated_at timestamptz not null,
  primary key (workspace_id, member_id, conversation_id),
  constraint drafts_member_fkey foreign key (workspace_id, member_id)
    references members (workspace_id, id) on delete cascade,
  constraint drafts_conversation_fkey foreign key (workspace_id, conversation_id)
    references conversations (workspace_id, id) on delete cascade
);
comment on table drafts is 'Unsent replies of members, one per member and conversation.';
-- Erasing a contact deletes the drafts of its conversations.
create index drafts_by_conversation on drafts (workspace_id, conversation_id);
