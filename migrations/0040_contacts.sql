-- Runs without a transaction.
-- Contacts: what members know about them, opting out by the API, merging, and the order of changes. Each statement may run again, and
-- holds the lock of one large table.
alter table contacts add column if not exists attributes jsonb not null default '{}';

comment on column contacts.attributes is 'Custom fields of the workspace: names with a text, number or boolean.';

create table if not exists contact_notes (
  workspace_id uuid not null,
  contact_id uuid not null,
  id uuid not null,
  member_id uuid not null,
  text text not null,
  created_at timestamptz not null,
  primary key (workspace_id, contact_id, id),
  foreign key (workspace_id, contact_id) references contacts (workspace_id, id) on delete cascade
);

comment on table contact_notes is 'Notes of members about a contact.';

comment on column contact_notes.member_id is 'The author. Kept when the member is removed.';

-- A caller of the API can opt a contact out of broadcasts too. All stored values meet the new rule, so no row is checked.
alter table contacts
  drop constraint if exists contacts_opted_out_by_check,
  add constraint contacts_opted_out_by_check check (opted_out_by in ('customer', 'channel', 'member', 'api')) not valid;

-- Merges of contacts whose long history moves in several transactions. A worker continues one whose process was stopped.
create table if not exists contact_merges (
  workspace_id uuid not null,
  from_id uuid not null,
  to_id uuid not null,
  continued_at timestamptz not null default now(),
  primary key (workspace_id, from_id),
  foreign key (workspace_id, from_id) references contacts on delete cascade,
  foreign key (workspace_id, to_id) references contacts on delete cascade
);

comment on table contact_merges is 'Merges of contacts that are in progress: the history of one moves to the other in batches.';

comment on column contact_merges.continued_at is 'When the last batch was moved.';

create index if not exists contact_merges_by_target on contact_merges (workspace_id, to_id);

-- Conversations that were merged into another one, so that a page or a link with the old id leads there.
create table if not exists merged_conversations (
  workspace_id uuid not null,
  id uuid not null,
  into_id uuid not null,
  primary key (workspace_id, id),
  foreign key (workspace_id, into_id) references conversations on delete cascade
);

comment on table merged_conversations is 'Conversations that are gone since two contacts were merged, and the ones that have their content.';

create index if not exists merged_conversations_by_target on merged_conversations (workspace_id, into_id);

-- Merging moves a message with its media. The reference is then checked at the commit.
alter table media alter constraint media_workspace_id_conversation_id_message_id_fkey deferrable initially immediate;

-- The order of changes, for synchronization: `GET /contacts?updated_after=`.
create index concurrently if not exists contacts_by_change on contacts (workspace_id, updated_at, id);

-- A worker merges the pending entries of the search index once a second (server/contacts/search-index.ts), so that callers do not.
-- The limit is for times without a worker: with 256 kB a batch of 1,000 new contacts merged several times in the caller's transaction.
-- A search reads all pending entries.
alter index contacts_search set (gin_pending_list_limit = 8192);
