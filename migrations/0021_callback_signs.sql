-- When the provider last proved that it knows a callback, and last reported to it.
alter table channel_connections
  add column callback_verified_at timestamptz,
  add column callback_received_at timestamptz;
