-- Links by e-mail with which a member sets a new password.
create table password_resets (
  workspace_id uuid not null,
  member_id uuid not null,
  token_hash text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (workspace_id, member_id),
  foreign key (workspace_id, member_id) references members on delete cascade
);
create index password_resets_by_token on password_resets (token_hash);
create index password_resets_by_expiry on password_resets (expires_at);
comment on table password_resets is
  'Links that were sent by e-mail and set a new password once. One link may be for a member of several workspaces.';
comment on column password_resets.token_hash is 'SHA-256 of the token in the link.';
