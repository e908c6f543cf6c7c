-- The order of changes, for synchronisation: `GET /contacts?updated_after=`. A million contacts take about a second.
create index contacts_by_change on contacts (workspace_id, updated_at, id);
