-- What the provider reported about the account: a list of at most 20 { key, severity, text, at, expires_at }, one per key,
-- restrictions first, then the newest first.
alter table channel_connections add column signals jsonb not null default '[]';

-- Null until the provider reports it.
alter table templates
  add column status_reason text,
  add column quality text,
  add column previous_category text;
