-- The order of the inbox, snoozing, labels and saved views. 0039 fills the columns and builds the indexes.

-- A customer's message and a member's reply move a conversation. Messages of the API and of broadcasts do not: their update
-- changes no indexed column, so it stays a heap-only update.
alter table conversations
  add column inbox_at timestamptz,
  add column waiting_since timestamptz,
  add column snoozed_until timestamptz;
comment on column conversations.inbox_at is
  'The last message of the customer or reply of a member. Null: only automated messages so far, so it is not in the inbox.';
comment on column conversations.waiting_since is
  'The first message of the customer without a reply of a member. It has no meaning while the conversation is closed.';
comment on column conversations.snoozed_until is 'The status is pending until then.';

-- Processes of release 0.1.0 do not write the new columns. Two triggers do it for them; a later release drops both. They run after
-- the statement: a trigger before an update locks the row once more to evaluate its condition.

-- A customer's message puts the conversation into the inbox. It ends the snooze, as does a change of the status.
create function put_into_inbox() returns trigger language plpgsql as $$
begin
  update conversations set
    inbox_at = case when new.unread_count > old.unread_count then greatest(inbox_at, now()) else inbox_at end,
    waiting_since = case
      when new.unread_count <= old.unread_count then waiting_since
      when old.status = 'closed' then now()
      else coalesce(waiting_since, now())
    end,
    snoozed_until = null
  where workspace_id = new.workspace_id and id = new.id;
  return null;
end $$;
create trigger put_into_inbox after update of unread_count, status on conversations for each row
when (
  (new.unread_count > old.unread_count and new.inbox_at is not distinct from old.inbox_at)
  or (new.status <> old.status and new.snoozed_until = old.snoozed_until)
)
execute function put_into_inbox();

-- A reply of a member, or one from the provider's app, moves the conversation in the inbox and ends the customer's wait.
create function put_reply_into_inbox() returns trigger language plpgsql as $$
begin
  update conversations set
    inbox_at = greatest(inbox_at, new.created_at),
    waiting_since = case when waiting_since > new.created_at then waiting_since end
  where workspace_id = new.workspace_id and id = new.conversation_id
    and (inbox_at is null or inbox_at < new.created_at or waiting_since <= new.created_at);
  return null;
end $$;
create trigger put_reply_into_inbox after insert on messages for each row
when (new.direction = 'outbound' and (new.sender_id is not null or new.sent_at is not null))
execute function put_reply_into_inbox();

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
