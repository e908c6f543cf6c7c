-- Members block contacts on a channel, and mark conversations as unread.

alter table conversations
  add column blocked_at timestamptz,
  add column is_channel_blocked boolean not null default false;

comment on column conversations.blocked_at is 'When a member blocked the contact on this channel. New messages are stored, but do not reopen the conversation.';
comment on column conversations.is_channel_blocked is 'The channel blocks the contact too: it accepts no messages of the contact.';

-- A customer's message changes the time of the last message. A member who marks the conversation as unread does not, and it stays where it is.
create or replace trigger put_into_inbox after update of unread_count, status on conversations for each row
when (
  (
    new.unread_count > old.unread_count and new.inbox_at is not distinct from old.inbox_at
    and new.last_message_at is distinct from old.last_message_at
  )
  or (new.status <> old.status and new.snoozed_until = old.snoozed_until)
)
execute function put_into_inbox();

alter table timeline_entries drop constraint timeline_entries_kind_check;
alter table timeline_entries add constraint timeline_entries_kind_check
check (kind in ('note', 'status', 'assigned', 'labeled', 'snoozed', 'blocked', 'unblocked')) not valid;
