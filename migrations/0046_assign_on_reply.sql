-- Assigning a conversation to the member who replies.
alter table workspaces add column assign_on_reply boolean not null default false;
comment on column workspaces.assign_on_reply is 'A member who replies in an unassigned conversation is assigned to it.';
