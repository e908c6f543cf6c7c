-- The time of the customer's last message by our clock, beside the one by the clock of the channel.
-- A process of the previous release writes only `last_inbound_at`; readers take the later of the two.
alter table conversations add column last_received_at timestamptz;
comment on column conversations.last_inbound_at is
  'When the customer last wrote, by the clock of the channel. The 24-hour window starts here.';
comment on column conversations.last_received_at is
  'When the service received the customer''s last message, by the clock of the database. The API shows it as last_inbound_at.';
