-- The web chat: visitors see that a member has read their messages, and members see that a visitor types.
alter table conversations add column read_up_to timestamptz;
comment on column conversations.read_up_to is
  'The last_received_at when a member last read the conversation: the visitor of a web chat sees that earlier messages were seen.';

create unlogged table visitor_presence (
  workspace_id uuid not null,
  visitor_id text not null,
  conversation_id uuid not null,
  typing_until timestamptz not null,
  primary key (workspace_id, visitor_id)
) with (fillfactor = 50);
comment on table visitor_presence is
  'Visitors of the web chat who type. Unlogged and without foreign keys, so that a signal writes no log.';
