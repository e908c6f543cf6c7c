-- Sign-in with OpenID Connect: which account at the provider belongs to which member.
create table oidc_accounts (
  workspace_id uuid not null references workspaces on delete cascade,
  issuer text not null,
  subject text not null,
  member_id uuid,
  created_at timestamptz not null,
  primary key (workspace_id, issuer, subject),
  constraint oidc_accounts_member_unique unique (workspace_id, member_id, issuer),
  foreign key (workspace_id, member_id) references members on delete set null (member_id)
);
create index oidc_accounts_by_subject on oidc_accounts (issuer, subject);
comment on table oidc_accounts is 'Accounts at an OpenID Connect provider with which members sign in.';
comment on column oidc_accounts.subject is 'The id of the account at the issuer (`sub`). It never changes; an e-mail can.';
comment on column oidc_accounts.member_id is 'Null: the member was removed, and signs in again only after a new invitation.';
