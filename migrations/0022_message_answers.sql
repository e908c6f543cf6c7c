-- The message that last counted as an answer in a conversation, and since when the customer had waited for it: when it
-- fails after all, it is taken back.
create table message_answers (
  workspace_id uuid not null,
  conversation_id uuid not null,
  message_id uuid not null,
  since timestamptz not null,
  primary key (workspace_id, conversation_id),
  foreign key (workspace_id, conversation_id) references conversations (workspace_id, id) on delete cascade
) with (fillfactor = 70);
