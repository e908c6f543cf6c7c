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
