-- How the chat on somebody's site looks and which sites may have it, and how often visitors may call.

-- Only on `web`; what is absent has its default.
alter table channel_connections add column widget jsonb not null default '{}';

-- Calls of the current minute, by whom they are counted for. A crash forgets them.
create unlogged table visitor_windows (
  key text primary key,
  started_at timestamptz not null,
  call_count integer not null
);
create index visitor_windows_by_start on visitor_windows (started_at);
