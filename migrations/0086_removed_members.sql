-- Who was removed, so that single sign-on does not create the person again with another account at the provider.
create table removed_members (
  workspace_id uuid not null references workspaces on delete cascade,
  email_hash text not null,
  removed_at timestamptz not null,
  primary key (workspace_id, email_hash)
);
comment on table removed_members is 'Members who were removed. They return only after a new invitation.';
comment on column removed_members.email_hash is 'SHA-256 of the folded e-mail.';
