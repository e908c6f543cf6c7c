-- Conversations: their order in the inbox, snoozing, and from where and when the customer last wrote. 0037 fills the columns of the inbox.

-- A customer's message and a member's reply move a conversation. Messages of the API and of broadcasts do not: their update
-- changes no indexed column, so it stays a heap-only update.
alter table conversations
  add column inbox_at timestamptz,
  add column waiting_since timestamptz,
  add column snoozed_until timestamptz,
  add column last_inbound_identity text,
  add column last_received_at timestamptz;
comment on column conversations.inbox_at is
  'The last message of the customer or reply of a member. Null: only automated messages so far, so it is not in the inbox.';
comment on column conversations.waiting_since is
  'The first message of the customer without a reply of a member. It has no meaning while the conversation is closed.';
comment on column conversations.snoozed_until is 'The status is pending until then.';
comment on column conversations.last_inbound_identity is
  'The identity that the customer last wrote from. A contact may have several; replies go to this one.';
-- A process of the previous release writes only `last_inbound_at`; readers take the later of the two times.
comment on column conversations.last_inbound_at is
  'When the customer last wrote, by the clock of the channel. The 24-hour window starts here.';
comment on column conversations.last_received_at is
  'When the service received the customer''s last message, by the clock of the database. The API shows it as last_inbound_at.';

-- Processes of release 0.1.0 do not write the columns of the inbox. Two triggers do it for them; a later release drops both. They run after
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
