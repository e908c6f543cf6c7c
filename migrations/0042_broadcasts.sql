-- Broadcasts: drafts, whose recipients are added in batches before they start; and contact fields in template values.

-- Template values are literal unless the caller allows contact fields. The values of earlier broadcasts, and of those that the previous
-- release creates while both run, were checked with fields. So the default keeps them, and new code always writes the column.
alter table broadcasts
  drop constraint broadcasts_status_check,
  add constraint broadcasts_status_check check (status in ('draft', 'scheduled', 'sending', 'sent', 'canceled')),
  add column contact_fields boolean not null default true;
comment on column broadcasts.contact_fields is 'Contact fields in template values, such as {{contact.name|there}}, are filled. Otherwise values are literal.';

-- For the limits on drafts and unsent recipients: a workspace may have any number of broadcasts that are sent.
create index broadcasts_unsent on broadcasts (workspace_id) where completed_at is null;
