create table messages (
  workspace_id uuid not null,
  conversation_id uuid not null,
  id uuid not null,
  direction text not null check (direction in ('inbound', 'outbound')),
  sender_type text not null check (sender_type in ('customer', 'agent', 'bot')),
  -- The member who wrote it, if one did.
  sender_id uuid,
  content_type text not null,
  content_text text,
  -- What does not fit in a line: a place, cards, a filled template.
  content jsonb,
  -- An address outside, or a path of our media store.
  media_url text,
  template_name text,
  -- The channel's own id.
  external_id text,
  status text not null check (status in ('received', 'pending', 'sent', 'failed', 'delivered', 'read')),
  error text,
  reply_to_message_id uuid,
  interactive_reply_id text,
  -- The channel's time of an inbound one.
  sent_at timestamptz,
  deleted_at timestamptz,
  created_at timestamptz not null,
  primary key (workspace_id, conversation_id, id),
  foreign key (workspace_id, conversation_id) references conversations (workspace_id, id) on delete cascade
);
-- A repeat of a message is found here, and so is the message a report is about.
create unique index messages_by_external_id on messages (workspace_id, external_id) where external_id is not null;
-- Those the channel has not named yet, by our id, and by age: among them are those without an outcome. No index says
-- `status`, which changes with every report: so a row is updated within its page and the indexes are left alone.
create index messages_without_external_id on messages (workspace_id, id) where external_id is null and direction = 'outbound';
create index messages_unnamed_by_age on messages (created_at) where external_id is null and direction = 'outbound';
-- Room for that: three updates follow on an insert.
alter table messages set (fillfactor = 85);

-- Reports that came before the message they are about.
create table early_reports (
  workspace_id uuid not null references workspaces (id) on delete cascade,
  id uuid not null,
  external_id text not null,
  report jsonb not null,
  received_at timestamptz not null,
  primary key (workspace_id, id)
);
create index early_reports_by_age on early_reports (received_at);

-- Media the customers sent: a row is the job to fetch it, and then what is served.
create table media (
  workspace_id uuid not null,
  id uuid not null,
  conversation_id uuid not null,
  message_id uuid not null,
  channel text not null,
  -- How the channel names it.
  source jsonb not null,
  state text not null default 'pending' check (state in ('pending', 'stored', 'failed')),
  -- What the link says, and nobody can guess.
  token text not null,
  mime_type text,
  filename text,
  size_bytes bigint,
  attempt_count integer not null default 0,
  next_attempt_at timestamptz not null,
  last_error text,
  created_at timestamptz not null,
  primary key (workspace_id, id),
  foreign key (workspace_id, conversation_id, message_id) references messages (workspace_id, conversation_id, id) on delete cascade
);
create unique index media_by_token on media (token);
create index media_due on media (next_attempt_at) where state = 'pending';
create index media_failed on media (created_at) where state = 'failed';
create index media_by_message on media (workspace_id, conversation_id, message_id);

-- Lists of conversations by what they are filtered by; a status changes seldom.
create index conversations_by_status on conversations (workspace_id, status, id);
create index conversations_by_channel on conversations (workspace_id, channel, id);
-- Rows are updated with every message: room for that beside them keeps the indexes out of it.
alter table conversations set (fillfactor = 70);

-- Messages a workspace's plan counts, a calendar month (UTC) a row.
create table plan_usage (
  workspace_id uuid not null references workspaces (id) on delete cascade,
  month date not null,
  message_count integer not null default 0,
  primary key (workspace_id, month)
);

-- The id of what a request makes, kept when another takes over from one that crashed: it is made once.
alter table idempotency_keys add column subject_id uuid;
