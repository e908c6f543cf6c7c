-- The role that can only read. The new constraints are checked without a long lock: `not valid` first, and both tables are small.
alter table members drop constraint members_role_check;
alter table members add constraint members_role_check check (role in ('owner', 'admin', 'agent', 'viewer')) not valid;
alter table members validate constraint members_role_check;
alter table invitations drop constraint invitations_role_check;
alter table invitations add constraint invitations_role_check check (role in ('owner', 'admin', 'agent', 'viewer')) not valid;
alter table invitations validate constraint invitations_role_check;
