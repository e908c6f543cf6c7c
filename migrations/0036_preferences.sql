-- What a member chose for the dashboard: notifications, sound, quiet hours, density. Only the keys that the member changed.
alter table members add column preferences jsonb not null default '{}';
comment on column members.preferences is 'Settings of the dashboard that the member changed: notifications, sound, quiet hours, density.';
