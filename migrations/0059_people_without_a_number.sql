-- Runs without a transaction.
-- Usernames of the primary channel, by which members recognise and find people without a number, and numbers that lead to merge suggestions.

alter table contacts add column if not exists username text, add column if not exists username_key text;
comment on column contacts.username is 'The username on the primary channel, as its last callback named it.';

alter table contact_identities add column if not exists reported_number text;
comment on column contact_identities.reported_number is
  'The phone number that a callback named together with this user id, while another contact has the number: the two are probably one person.';

-- Few contacts have a username, so writers can afford to update the index at once.
create index concurrently if not exists contacts_by_username on contacts using gin (username_key gin_trgm_ops)
  with (fastupdate = off) where username_key is not null;

create index concurrently if not exists contact_identities_by_reported_number on contact_identities
  (workspace_id, channel, reported_number)
  where reported_number is not null;

-- A number that is erased or replaced leaves no trace.
alter table contact_identities drop constraint if exists contact_identities_reported_number_fkey,
  add constraint contact_identities_reported_number_fkey foreign key (workspace_id, channel, reported_number)
  references contact_identities (workspace_id, channel, external_id) on delete set null (reported_number) not valid;
