-- Two-step sign-in: the second factor of members, and whether a workspace requires one.
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

alter table workspaces add column requires_second_factor boolean not null default false;
comment on column workspaces.requires_second_factor is 'Members without a second factor set one up when they sign in.';

alter table sessions add column second_factor_due boolean not null default false;
comment on column sessions.second_factor_due is 'The member must set up a second factor before this session may do anything else.';
