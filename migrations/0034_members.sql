-- Members: a role that can only read, settings of the dashboard, and which email addresses are proved. Both tables are small.
alter table members
  drop constraint members_role_check,
  add constraint members_role_check check (role in ('owner', 'admin', 'agent', 'viewer')),
  add column preferences jsonb not null default '{}',
  add column email_proved_at timestamptz,
  add column device_generation integer not null default 0;
comment on column members.preferences is 'Settings of the dashboard that the member changed: notifications, sound, quiet hours, density.';
comment on column members.email_proved_at is
  'When the e-mail was proved: by the link of a mailed invitation, by the operator, or by the OpenID Connect provider. Null: the inviter may have used the link.';
comment on column members.device_generation is
  'Raised when the member signs out of other browsers: their device cookies are not accepted any more.';

alter table invitations
  drop constraint invitations_role_check,
  add constraint invitations_role_check check (role in ('owner', 'admin', 'agent', 'viewer')),
  add column mail_token_hash text;
create unique index invitations_by_mail_token on invitations (mail_token_hash);
comment on column invitations.token_hash is 'SHA-256 of the token in the link that the inviter sees.';
comment on column invitations.mail_token_hash is
  'SHA-256 of the token in the link that only the e-mail contains. It proves the address.';

-- Only a proved address counts for single sign-on and password resets. The operator creates the first owner of each workspace. While
-- there is only one workspace, no other could have taken an address.
update members m set email_proved_at = m.created_at
where (select count(*) from workspaces where not is_demo) <= 1
  or m.role = 'owner' and not exists (
    select from members older where older.workspace_id = m.workspace_id and older.id < m.id
  );
