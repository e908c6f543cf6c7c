-- Runs without a transaction.
-- Indexes of the search in notes, the history of a contact, and the sorted lists of contacts. Each statement may run again.

alter table timeline_entries validate constraint timeline_entries_kind_check;

create index concurrently if not exists timeline_notes on timeline_entries (workspace_id, id) where kind = 'note';

create index concurrently if not exists contact_notes_by_id on contact_notes (workspace_id, id);

-- What members changed about a contact.
create index concurrently if not exists audit_log_by_subject on audit_log (workspace_id, subject_id, id)
where subject_id is not null;

-- A change of many contacts at once is one entry.
alter table audit_log add column if not exists subject_ids uuid[];

comment on column audit_log.subject_ids is 'The subjects of an action that changes many.';

create index concurrently if not exists audit_log_by_subjects on audit_log using gin (subject_ids)
where subject_ids is not null;

-- The beginning of a text sorts it: a whole one can be too long for an index.
create index concurrently if not exists contacts_by_name on contacts (workspace_id, left(name_key, 100), id)
where name_key is not null;

create index concurrently if not exists contacts_by_company on contacts (workspace_id, left(company_key, 100), id)
where company_key is not null;
