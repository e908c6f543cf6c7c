-- Drafts: broadcasts whose recipients are added in batches before they start.
alter table broadcasts
  drop constraint broadcasts_status_check,
  add constraint broadcasts_status_check check (status in ('draft', 'scheduled', 'sending', 'sent', 'canceled')) not valid;
alter table broadcasts validate constraint broadcasts_status_check;
