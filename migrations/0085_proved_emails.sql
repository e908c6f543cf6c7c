-- Which members have proved that their e-mail is theirs: only such an address counts for single sign-on and password resets.
alter table members add column email_proved_at timestamptz;
comment on column members.email_proved_at is
  'When the e-mail was proved: by the link of a mailed invitation, by the operator, or by the OpenID Connect provider. Null: the inviter may have used the link.';

alter table invitations add column mail_token_hash text;
create unique index invitations_by_mail_token on invitations (mail_token_hash);
comment on column invitations.token_hash is 'SHA-256 of the token in the link that the inviter sees.';
comment on column invitations.mail_token_hash is
  'SHA-256 of the token in the link that only the e-mail contains. It proves the address.';

-- The operator creates the first owner of each workspace. While there is only one workspace, no other could have taken an address.
update members m set email_proved_at = m.created_at
where (select count(*) from workspaces where not is_demo) <= 1
  or m.role = 'owner' and not exists (
    select from members older where older.workspace_id = m.workspace_id and older.id < m.id
  );
