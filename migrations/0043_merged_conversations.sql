-- Conversations that were merged into another one, so that a page or a link with the old id leads there.
create table merged_conversations (
  workspace_id uuid not null,
  id uuid not null,
  into_id uuid not null,
  primary key (workspace_id, id),
  foreign key (workspace_id, into_id) references conversations on delete cascade
);
comment on table merged_conversations is 'Conversations that are gone since two contacts were merged, and the ones that have their content.';
create index merged_conversations_by_target on merged_conversations (workspace_id, into_id);
