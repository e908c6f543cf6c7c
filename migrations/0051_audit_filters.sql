-- Runs without a transaction.
-- The audit log by member and by kind of object. Each statement may run again.
create index concurrently if not exists audit_log_by_member on audit_log (workspace_id, member_id, id);

-- `contact.changed` and `contacts.exported` are of the same kind.
create index concurrently if not exists audit_log_by_object
  on audit_log (workspace_id, rtrim(split_part(action, '.', 1), 's'), id);
