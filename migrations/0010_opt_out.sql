-- Who wants no broadcasts any more, and the words by which customers say so.

alter table contacts
  add column opted_out_at timestamptz, -- null: they get broadcasts
  add column opted_out_by text check (opted_out_by in ('customer', 'channel', 'member')),
  -- When the last decision fell, either way, by the channel's time: an older one that comes late changes nothing.
  add column opt_out_decided_at timestamptz,
  add constraint contacts_opted_out_by_somebody check ((opted_out_at is null) = (opted_out_by is null));

alter table workspaces add column opt_out_words text[] not null default '{}';

-- Those with a limit are few among the unlimited, and the operator's metrics ask for them every few seconds.
create index workspaces_with_limit on workspaces (id) where plan_messages_per_month is not null;
