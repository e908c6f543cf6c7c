-- Runs without a transaction.
-- It changes four large tables, and so holds the lock of one at a time. Each statement may run again.
-- What members know about a contact: attributes, notes, the page of a web visitor; and what merging two contacts needs.
alter table contacts add column if not exists attributes jsonb not null default '{}';

comment on column contacts.attributes is 'Custom fields of the workspace: names with a text, number or boolean.';

alter table contact_identities add column if not exists visit jsonb;

comment on column contact_identities.visit is 'The last page and the browser of a web visitor.';

alter table conversations add column if not exists last_inbound_identity text;

comment on column conversations.last_inbound_identity is 'The identity that the customer last wrote from. A contact may have several; replies go to this one.';

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

-- Merging moves a message with its media, and a note with its mentions. The references are then checked at the commit.
alter table media alter constraint media_workspace_id_conversation_id_message_id_fkey deferrable initially immediate;

alter table mentions alter constraint mentions_workspace_id_conversation_id_id_fkey deferrable initially immediate;
