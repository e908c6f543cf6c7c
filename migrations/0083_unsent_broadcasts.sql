-- For the limits on drafts and unsent recipients: a workspace may have any number of broadcasts that are sent.
create index broadcasts_unsent on broadcasts (workspace_id) where completed_at is null;
