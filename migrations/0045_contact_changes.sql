-- Runs without a transaction.
-- The order of changes, for synchronisation: `GET /contacts?updated_after=`.
create index concurrently if not exists contacts_by_change on contacts (workspace_id, updated_at, id);
