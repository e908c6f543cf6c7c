-- Sign-in: a second factor, links that set a new password, and accounts at an OpenID Connect provider.

create table member_second_factors (
  workspace_id uuid not null,
  member_id uuid not null,
  secret text not null,
  created_at timestamptz not null,
  confirmed_at timestamptz,
  last_step integer not null default 0,
  recovery_code_hashes text[] not null default '{}',
  primary key (workspace_id, member_id),
  foreign key (workspace_id, member_id) references members on delete cascade
);
comment on table member_second_factors is 'The authenticator app of a member (TOTP, RFC 6238) and the recovery codes.';
comment on column member_second_factors.secret is 'Shared with the app; sealed.';
comment on column member_second_factors.confirmed_at is
  'When the member proved the first code. Null: the setup has begun, and sign-in needs no code yet.';
comment on column member_second_factors.last_step is 'The period of 30 s of the last used code. No earlier code is accepted.';
comment on column member_second_factors.recovery_code_hashes is 'SHA-256 of each unused recovery code.';

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

-- Who was removed, so that single sign-on does not create the person again with another account at the provider.
create table removed_members (
  workspace_id uuid not null references workspaces on delete cascade,
  email_hash text not null,
  removed_at timestamptz not null,
  primary key (workspace_id, email_hash)
);
comment on table removed_members is 'Members who were removed. They return only after a new invitation.';
comment on column removed_members.email_hash is 'SHA-256 of the folded e-mail.';

alter table workspaces add column requires_second_factor boolean not null default false;
comment on column workspaces.requires_second_factor is 'Members without a second factor set one up when they sign in.';

alter table sessions add column second_factor_due boolean not null default false;
comment on column sessions.second_factor_due is 'The member must set up a second factor before this session may do anything else.';
