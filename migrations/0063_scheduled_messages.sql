create table scheduled_messages (
  workspace_id uuid not null references workspaces (id) on delete cascade,
  id uuid not null,
  conversation_id uuid not null,
  member_id uuid,
  key_id uuid,
  content jsonb not null,
  reply_to_message_id uuid,
  upload_ids uuid[] not null default '{}',
  send_at timestamptz not null,
  hold_if_customer_writes boolean not null,
  written_at timestamptz not null default now(),
  state text not null default 'scheduled',
  due_at timestamptz not null,
  attempt_count integer not null default 0,
  message_id uuid,
  error text,
  created_at timestamptz not null,
  updated_at timestamptz not null default now(),
  primary key (workspace_id, id),
  constraint scheduled_messages_conversation_fkey
    foreign key (workspace_id, conversation_id) references conversations (workspace_id, id) on delete cascade,
  constraint scheduled_messages_author_check check ((member_id is null) <> (key_id is null)),
  constraint scheduled_messages_state_check check (state in ('scheduled', 'held', 'sending', 'sent', 'failed', 'canceled'))
);

create index scheduled_messages_due on scheduled_messages (workspace_id, due_at, id) where state in ('scheduled', 'sending');
create index scheduled_messages_waiting on scheduled_messages (workspace_id, conversation_id)
  where state in ('scheduled', 'held', 'sending');
create index scheduled_messages_by_conversation on scheduled_messages (workspace_id, conversation_id, id);
create index scheduled_messages_ended on scheduled_messages (updated_at) where state in ('sent', 'failed', 'canceled');

comment on table scheduled_messages is 'Replies to send later. A row is also the job of the worker: state, attempts and lease.';
comment on column scheduled_messages.member_id is 'The member who wrote the content, or key_id: the API key. Kept when the member is removed.';
comment on column scheduled_messages.content is 'The body of the reply as it was requested. It is checked when it is written and again when it is sent.';
comment on column scheduled_messages.upload_ids is 'The uploaded files of the content. Each has a use until the message is sent, canceled or erased.';
comment on column scheduled_messages.written_at is 'When a caller last decided about content or time. A message of the customer after that can hold it back.';
comment on column scheduled_messages.due_at is 'When a worker may claim the row: send_at, or the end of the lease while it is sending.';
comment on column scheduled_messages.message_id is 'The id of the message, stored before it is sent, so that a repeat finds it. Null if no message was stored.';
comment on column scheduled_messages.error is 'Why it failed; while it is sending, that the outcome is not known yet.';
