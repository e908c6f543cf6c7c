-- Imports of contacts from files: each import, what it changed, the rows it refused, and mappings that members saved.
create table contact_imports (
  workspace_id uuid not null references workspaces (id) on delete cascade,
  id uuid not null,
  state text not null,
  filename text,
  size_bytes bigint not null default 0,
  has_file boolean not null default true,
  encoding text,
  delimiter text,
  header text[],
  columns jsonb,
  first_byte bigint,
  first_line integer,
  mapping jsonb,
  options jsonb,
  country text,
  next_byte bigint not null default 0,
  next_line integer not null default 1,
  rows_done integer not null default 0,
  check_result jsonb,
  result jsonb,
  undone_to uuid,
  erased_count integer not null default 0,
  restored_count integer not null default 0,
  kept_count integer not null default 0,
  error text,
  has_changes boolean not null default false,
  created_by uuid not null,
  created_at timestamptz not null,
  queued_at timestamptz,
  checked_at timestamptz,
  started_at timestamptz,
  ended_at timestamptz,
  undone_at timestamptz,
  changes_until timestamptz,
  lease integer not null default 0,
  leased_until timestamptz,
  attempt_count integer not null default 0,
  resumed_at timestamptz,
  resumed_rows integer not null default 0,
  primary key (workspace_id, id),
  constraint contact_imports_state_check check (
    state in ('uploading', 'uploaded', 'checking', 'checked', 'importing', 'done', 'failed', 'canceled', 'undoing', 'undone')
  )
);

create index contact_imports_running on contact_imports (queued_at) where state in ('checking', 'importing', 'undoing');
create index contact_imports_with_changes on contact_imports (workspace_id, id) where has_changes;

comment on table contact_imports is 'Imports of contacts from files. A row is also the job of the worker: state, position and lease.';
comment on column contact_imports.has_file is 'The file may be in the object store, under the id of the import.';
comment on column contact_imports.columns is 'Suggestions and values of the first rows by column, until the import ends.';
comment on column contact_imports.first_byte is 'Where the first row below the header starts.';
comment on column contact_imports.country is 'The default country of the workspace when the file was checked.';
comment on column contact_imports.next_byte is 'Where the worker continues. The transaction that imports a chunk moves it.';
comment on column contact_imports.check_result is 'Counts of rows, and of the reasons of rejected ones, by the check; result has those of the import.';
comment on column contact_imports.undone_to is 'The last contact that the undo has handled.';
comment on column contact_imports.has_changes is 'contact_import_changes has rows of this import.';
comment on column contact_imports.changes_until is 'Until then the import can be undone, or the list of what an undo kept is available.';
comment on column contact_imports.lease is 'Counts the claims. A worker whose lease has another number has lost the import.';
comment on column contact_imports.attempt_count is 'Claims since the last progress.';
comment on column contact_imports.resumed_rows is 'The rows that were done at resumed_at, for the speed.';

create table contact_import_changes (
  workspace_id uuid not null,
  import_id uuid not null,
  contact_id uuid not null,
  before jsonb,
  after jsonb,
  before_at timestamptz,
  after_at timestamptz not null,
  kept text,
  primary key (workspace_id, import_id, contact_id)
);
comment on table contact_import_changes is
  'What an import changed, for its undo. Without foreign keys: an import writes up to a million rows.';
comment on column contact_import_changes.before is 'The changed fields before the import. Null for a contact that it created.';
comment on column contact_import_changes.after_at is 'The updated_at of the contact after the import; before_at is the one before it.';
comment on column contact_import_changes.kept is 'Why the undo did not restore the contact.';

create table contact_import_rejects (
  workspace_id uuid not null,
  import_id uuid not null,
  first_line integer not null,
  rows text not null,
  primary key (workspace_id, import_id, first_line)
);
comment on table contact_import_rejects is 'The rejected rows of a chunk of an import, as lines of CSV, for seven days.';

create table contact_import_mappings (
  workspace_id uuid not null references workspaces (id) on delete cascade,
  header_key text not null,
  mapping jsonb not null,
  saved_at timestamptz not null default now(),
  primary key (workspace_id, header_key)
);
comment on table contact_import_mappings is 'Mappings of columns that members saved, by a hash of the column names.';
