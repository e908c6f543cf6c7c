-- The migrated database, for reading. Written by `npm run schema`; a test keeps it true.

create extension pg_trgm;

create unlogged table api_key_windows (
  workspace_id uuid not null,
  key_id uuid not null,
  started_at timestamp with time zone not null,
  request_count integer not null,
  constraint api_key_windows_pkey PRIMARY KEY (workspace_id, key_id)
) with (fillfactor=50);

create table api_keys (
  workspace_id uuid not null,
  id uuid not null,
  name text not null,
  prefix text not null,
  key_hash text not null,
  scopes text[] not null,
  created_by uuid,
  created_at timestamp with time zone not null,
  last_used_at timestamp with time zone,
  expires_at timestamp with time zone,
  revoked_at timestamp with time zone,
  constraint api_keys_key_hash_key UNIQUE (key_hash),
  constraint api_keys_pkey PRIMARY KEY (workspace_id, id),
  constraint api_keys_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE
);

create table audit_log (
  workspace_id uuid not null,
  id uuid not null,
  member_id uuid not null,
  member_email text not null,
  action text not null,
  subject_id uuid,
  summary text,
  created_at timestamp with time zone not null,
  constraint audit_log_pkey PRIMARY KEY (workspace_id, id),
  constraint audit_log_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE
);
CREATE INDEX audit_log_by_age ON public.audit_log USING btree (created_at);

create table broadcast_counts (
  workspace_id uuid not null,
  broadcast_id uuid not null,
  shard integer not null,
  sent integer not null,
  delivered integer not null,
  read integer not null,
  failed integer not null,
  skipped integer not null,
  settled_at timestamp with time zone,
  constraint broadcast_counts_pkey PRIMARY KEY (workspace_id, broadcast_id, shard),
  constraint broadcast_counts_workspace_id_broadcast_id_fkey FOREIGN KEY (workspace_id, broadcast_id) REFERENCES broadcasts(workspace_id, id) ON DELETE CASCADE
) with (fillfactor=50);

create table broadcast_paces (
  workspace_id uuid not null,
  connection_id uuid not null,
  allowance double precision not null default 0,
  filled_at timestamp with time zone not null,
  rate double precision not null default 0,
  throttled_at timestamp with time zone,
  breaker_state text not null default 'closed'::text,
  failure_count integer not null default 0,
  probe_count integer not null default 0,
  breaker_until timestamp with time zone,
  breaker_reason text,
  constraint broadcast_paces_pkey PRIMARY KEY (workspace_id, connection_id),
  constraint broadcast_paces_workspace_id_connection_id_fkey FOREIGN KEY (workspace_id, connection_id) REFERENCES channel_connections(workspace_id, id) ON DELETE CASCADE,
  constraint broadcast_paces_breaker_state_check CHECK ((breaker_state = ANY (ARRAY['closed'::text, 'open'::text, 'half_open'::text])))
) with (fillfactor=50);

create table broadcast_recipients (
  workspace_id uuid not null,
  broadcast_id uuid not null,
  place integer not null,
  contact_id uuid,
  phone text,
  identity text,
  name text,
  params jsonb,
  status text not null,
  reason text,
  message_id uuid,
  attempt_count integer not null default 0,
  retry_at timestamp with time zone,
  constraint broadcast_recipients_pkey PRIMARY KEY (workspace_id, broadcast_id, place),
  constraint broadcast_recipients_workspace_id_broadcast_id_fkey FOREIGN KEY (workspace_id, broadcast_id) REFERENCES broadcasts(workspace_id, id) ON DELETE CASCADE,
  constraint broadcast_recipients_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'sending'::text, 'sent'::text, 'delivered'::text, 'read'::text, 'failed'::text, 'skipped'::text])))
) with (fillfactor=70);
CREATE UNIQUE INDEX broadcast_recipients_by_message ON public.broadcast_recipients USING btree (workspace_id, message_id) WHERE (message_id IS NOT NULL);
CREATE INDEX broadcast_recipients_to_retry ON public.broadcast_recipients USING btree (workspace_id, broadcast_id, retry_at) WHERE (retry_at IS NOT NULL);
CREATE INDEX broadcast_recipients_unsent_by_contact ON public.broadcast_recipients USING btree (workspace_id, contact_id) WHERE ((message_id IS NULL) AND (contact_id IS NOT NULL));
CREATE INDEX broadcast_recipients_unsent_by_identity ON public.broadcast_recipients USING btree (workspace_id, identity) WHERE ((message_id IS NULL) AND (identity IS NOT NULL));

create table broadcasts (
  workspace_id uuid not null,
  id uuid not null,
  name text not null,
  status text not null,
  template_name text not null,
  template_language text not null,
  params jsonb not null,
  segment_id uuid,
  total_count integer not null default 0,
  filled_count integer not null default 0,
  is_filled boolean not null,
  filled_to uuid,
  position integer not null default 0,
  plan_month date,
  reserved_count integer not null default 0,
  is_paused boolean not null default false,
  pause_reason text,
  cancel_reason text,
  again_id uuid,
  created_at timestamp with time zone not null,
  scheduled_at timestamp with time zone,
  started_at timestamp with time zone,
  served_at timestamp with time zone,
  completed_at timestamp with time zone,
  member_ids bytea,
  constraint broadcasts_pkey PRIMARY KEY (workspace_id, id),
  constraint broadcasts_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE,
  constraint broadcasts_status_check CHECK ((status = ANY (ARRAY['scheduled'::text, 'sending'::text, 'sent'::text, 'canceled'::text])))
) with (fillfactor=50);
CREATE INDEX broadcasts_scheduled ON public.broadcasts USING btree (scheduled_at) WHERE (status = 'scheduled'::text);
CREATE INDEX broadcasts_under_way ON public.broadcasts USING btree (workspace_id, id) WHERE ((completed_at IS NULL) AND (status <> 'scheduled'::text));

create table channel_connections (
  workspace_id uuid not null,
  id uuid not null,
  channel text not null,
  account_id text not null default ''::text,
  phone_number_id text not null default ''::text,
  base_url text not null default ''::text,
  api_version text not null default ''::text,
  secrets text not null,
  messages_per_second integer not null default 80,
  is_private boolean not null default false,
  simulator text,
  state text not null default 'unchecked'::text,
  last_error text,
  checked_at timestamp with time zone,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  widget jsonb not null default '{}'::jsonb,
  callback_verified_at timestamp with time zone,
  callback_received_at timestamp with time zone,
  signals jsonb not null default '[]'::jsonb,
  constraint channel_connections_one_a_channel UNIQUE (workspace_id, channel),
  constraint channel_connections_pkey PRIMARY KEY (workspace_id, id),
  constraint channel_connections_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE,
  constraint channel_connections_channel_check CHECK ((channel = ANY (ARRAY['msgapp'::text, 'social'::text, 'web'::text]))),
  constraint channel_connections_messages_per_second_check CHECK (((messages_per_second >= 1) AND (messages_per_second <= 10000))),
  constraint channel_connections_simulator_check CHECK ((simulator = ANY (ARRAY['built_in'::text, 'alone'::text]))),
  constraint channel_connections_state_check CHECK ((state = ANY (ARRAY['unchecked'::text, 'connected'::text, 'failing'::text])))
);
CREATE UNIQUE INDEX channel_connections_by_id ON public.channel_connections USING btree (id);

create table checklists (
  workspace_id uuid not null,
  dismissed_at timestamp with time zone,
  inbound_before integer not null default 0,
  event_heard_at timestamp with time zone,
  constraint checklists_pkey PRIMARY KEY (workspace_id),
  constraint checklists_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE
);

create table contact_identities (
  workspace_id uuid not null,
  channel text not null,
  external_id text not null,
  contact_id uuid not null,
  constraint contact_identities_pkey PRIMARY KEY (workspace_id, channel, external_id),
  constraint contact_identities_workspace_id_contact_id_fkey FOREIGN KEY (workspace_id, contact_id) REFERENCES contacts(workspace_id, id) ON DELETE CASCADE,
  constraint contact_identities_channel_check CHECK ((channel = ANY (ARRAY['msgapp'::text, 'social'::text, 'web'::text])))
);
CREATE INDEX contact_identities_by_channel ON public.contact_identities USING btree (workspace_id, channel, contact_id);
CREATE INDEX contact_identities_by_contact ON public.contact_identities USING btree (workspace_id, contact_id, channel);

create table contact_tags (
  workspace_id uuid not null,
  contact_id uuid not null,
  tag_id uuid not null,
  constraint contact_tags_pkey PRIMARY KEY (workspace_id, contact_id, tag_id),
  constraint contact_tags_workspace_id_contact_id_fkey FOREIGN KEY (workspace_id, contact_id) REFERENCES contacts(workspace_id, id) ON DELETE CASCADE,
  constraint contact_tags_workspace_id_tag_id_fkey FOREIGN KEY (workspace_id, tag_id) REFERENCES tags(workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX contact_tags_by_tag ON public.contact_tags USING btree (workspace_id, tag_id, contact_id);

create table contacts (
  workspace_id uuid not null,
  id uuid not null,
  phone text,
  social_username text,
  name text,
  email text,
  company text,
  avatar_url text,
  social_username_key text,
  name_key text,
  email_key text,
  company_key text,
  search text not null generated always as ((((((('
'::text || COALESCE(translate(name_key, '
'::text, ' '::text), ''::text)) || '
'::text) || COALESCE(phone, ''::text)) || '
'::text) || COALESCE(translate(email_key, '
'::text, ' '::text), ''::text)) || '
'::text) || COALESCE(translate(company_key, '
'::text, ' '::text), ''::text)) stored,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  opted_out_at timestamp with time zone,
  opted_out_by text,
  opt_out_decided_at timestamp with time zone,
  constraint contacts_pkey PRIMARY KEY (workspace_id, id),
  constraint contacts_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE,
  constraint contacts_opted_out_by_check CHECK ((opted_out_by = ANY (ARRAY['customer'::text, 'channel'::text, 'member'::text]))),
  constraint contacts_opted_out_by_somebody CHECK (((opted_out_at IS NULL) = (opted_out_by IS NULL)))
);
CREATE INDEX contacts_opted_out ON public.contacts USING btree (workspace_id, id) WHERE (opted_out_at IS NOT NULL);
CREATE INDEX contacts_search ON public.contacts USING gin (search gin_trgm_ops) WITH (gin_pending_list_limit='256');

create table conversations (
  workspace_id uuid not null,
  id uuid not null,
  contact_id uuid not null,
  channel text not null,
  status text not null default 'open'::text,
  assigned_agent_id uuid,
  last_message_text text,
  last_message_at timestamp with time zone,
  last_inbound_at timestamp with time zone,
  unread_count integer not null default 0,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint conversations_contact_channel_unique UNIQUE (workspace_id, contact_id, channel),
  constraint conversations_pkey PRIMARY KEY (workspace_id, id),
  constraint conversations_assigned_agent_fkey FOREIGN KEY (workspace_id, assigned_agent_id) REFERENCES members(workspace_id, id) ON DELETE SET NULL (assigned_agent_id) NOT VALID,
  constraint conversations_workspace_id_contact_id_fkey FOREIGN KEY (workspace_id, contact_id) REFERENCES contacts(workspace_id, id) ON DELETE CASCADE,
  constraint conversations_channel_check CHECK ((channel = ANY (ARRAY['msgapp'::text, 'social'::text, 'web'::text]))),
  constraint conversations_status_check CHECK ((status = ANY (ARRAY['open'::text, 'pending'::text, 'closed'::text])))
) with (fillfactor=70);
CREATE INDEX conversations_by_activity ON public.conversations USING btree (workspace_id, channel, status, COALESCE(last_message_at, created_at), id);
CREATE INDEX conversations_by_agent ON public.conversations USING btree (workspace_id, COALESCE(assigned_agent_id, '00000000-0000-0000-0000-000000000000'::uuid), status, COALESCE(last_message_at, created_at), id);
CREATE INDEX conversations_by_channel ON public.conversations USING btree (workspace_id, channel, id);
CREATE INDEX conversations_by_status ON public.conversations USING btree (workspace_id, status, id);
CREATE INDEX conversations_of_member ON public.conversations USING btree (workspace_id, assigned_agent_id) WHERE (assigned_agent_id IS NOT NULL);
CREATE INDEX conversations_unread ON public.conversations USING btree (workspace_id, COALESCE(last_message_at, created_at), id) WHERE (unread_count > 0);

create table early_reports (
  workspace_id uuid not null,
  id uuid not null,
  external_id text not null,
  report jsonb not null,
  received_at timestamp with time zone not null,
  check_count integer not null default 0,
  next_check_at timestamp with time zone not null default now(),
  constraint early_reports_pkey PRIMARY KEY (workspace_id, id),
  constraint early_reports_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE
);
CREATE INDEX early_reports_by_age ON public.early_reports USING btree (received_at);
CREATE INDEX early_reports_by_message ON public.early_reports USING btree (workspace_id, external_id);
CREATE INDEX early_reports_due ON public.early_reports USING btree (workspace_id, next_check_at);

create table encryption_checks (
  is_only boolean not null default true,
  sealed text not null,
  constraint encryption_checks_pkey PRIMARY KEY (is_only),
  constraint encryption_checks_is_only_check CHECK (is_only)
);

create table idempotency_keys (
  workspace_id uuid not null,
  path text not null,
  key text not null,
  body_hash text not null,
  claim_id uuid not null,
  status integer,
  body text,
  created_at timestamp with time zone not null,
  locked_until timestamp with time zone not null,
  subject_id uuid,
  constraint idempotency_keys_pkey PRIMARY KEY (workspace_id, path, key),
  constraint idempotency_keys_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE
);
CREATE INDEX idempotency_keys_by_age ON public.idempotency_keys USING btree (created_at);

create table invitations (
  workspace_id uuid not null,
  id uuid not null,
  token_hash text not null,
  email text not null,
  email_key text not null,
  role text not null,
  invited_by uuid not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  constraint invitations_email_unique UNIQUE (workspace_id, email_key),
  constraint invitations_token_hash_key UNIQUE (token_hash),
  constraint invitations_pkey PRIMARY KEY (workspace_id, id),
  constraint invitations_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE,
  constraint invitations_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'agent'::text])))
);

create table media (
  workspace_id uuid not null,
  id uuid not null,
  conversation_id uuid not null,
  message_id uuid not null,
  channel text not null,
  source jsonb not null,
  state text not null default 'pending'::text,
  token text not null,
  mime_type text,
  filename text,
  size_bytes bigint,
  attempt_count integer not null default 0,
  next_attempt_at timestamp with time zone not null,
  last_error text,
  created_at timestamp with time zone not null,
  constraint media_pkey PRIMARY KEY (workspace_id, id),
  constraint media_workspace_id_conversation_id_message_id_fkey FOREIGN KEY (workspace_id, conversation_id, message_id) REFERENCES messages(workspace_id, conversation_id, id) ON DELETE CASCADE,
  constraint media_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'stored'::text, 'failed'::text])))
);
CREATE INDEX media_by_message ON public.media USING btree (workspace_id, conversation_id, message_id);
CREATE UNIQUE INDEX media_by_token ON public.media USING btree (token);
CREATE INDEX media_failed ON public.media USING btree (created_at) WHERE (state = 'failed'::text);
CREATE INDEX media_pending ON public.media USING btree (workspace_id, next_attempt_at) WHERE (state = 'pending'::text);

create table members (
  workspace_id uuid not null,
  id uuid not null,
  email text not null,
  email_key text not null,
  name text,
  role text not null,
  password_hash text not null,
  created_at timestamp with time zone not null,
  constraint members_email_unique UNIQUE (workspace_id, email_key),
  constraint members_pkey PRIMARY KEY (workspace_id, id),
  constraint members_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE,
  constraint members_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'agent'::text])))
);
CREATE INDEX members_by_email ON public.members USING btree (email_key);

create table message_answers (
  workspace_id uuid not null,
  conversation_id uuid not null,
  message_id uuid not null,
  since timestamp with time zone not null,
  constraint message_answers_pkey PRIMARY KEY (workspace_id, conversation_id),
  constraint message_answers_workspace_id_conversation_id_fkey FOREIGN KEY (workspace_id, conversation_id) REFERENCES conversations(workspace_id, id) ON DELETE CASCADE
) with (fillfactor=70);

create table message_days (
  workspace_id uuid not null,
  day date not null,
  channel text not null,
  inbound integer not null,
  outbound integer not null,
  answers integer not null,
  answer_seconds bigint not null,
  within_five_minutes integer not null,
  within_one_hour integer not null,
  within_one_day integer not null,
  constraint message_days_pkey PRIMARY KEY (workspace_id, day, channel),
  constraint message_days_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE
) with (fillfactor=50);

create table message_digest (
  is_only boolean not null default true,
  position uuid not null,
  looked_back_at timestamp with time zone not null,
  slice_count integer not null,
  constraint message_digest_pkey PRIMARY KEY (is_only),
  constraint message_digest_is_only_check CHECK (is_only)
);

create table message_outcomes (
  workspace_id uuid not null,
  day date not null,
  shard integer not null,
  sent integer not null,
  delivered integer not null,
  read integer not null,
  failed integer not null,
  constraint message_outcomes_pkey PRIMARY KEY (workspace_id, day, shard),
  constraint message_outcomes_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE
) with (fillfactor=50);

create table message_revisits (
  workspace_id uuid not null,
  id uuid not null default gen_random_uuid(),
  message_id uuid not null,
  created_at timestamp with time zone not null default now(),
  constraint message_revisits_pkey PRIMARY KEY (workspace_id, id),
  constraint message_revisits_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE
);

create table message_slices (
  workspace_id uuid not null,
  from_id uuid not null,
  slice integer not null,
  last_id uuid not null,
  message_count integer not null,
  constraint message_slices_pkey PRIMARY KEY (workspace_id, from_id),
  constraint message_slices_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE
) with (fillfactor=50);

create table message_waits (
  workspace_id uuid not null,
  conversation_id uuid not null,
  since timestamp with time zone not null,
  constraint message_waits_pkey PRIMARY KEY (workspace_id, conversation_id),
  constraint message_waits_workspace_id_conversation_id_fkey FOREIGN KEY (workspace_id, conversation_id) REFERENCES conversations(workspace_id, id) ON DELETE CASCADE
);

create table message_words (
  workspace_id uuid not null,
  conversation_id uuid not null,
  id uuid not null,
  words tsvector,
  constraint message_words_pkey PRIMARY KEY (workspace_id, conversation_id, id),
  constraint message_words_workspace_id_conversation_id_fkey FOREIGN KEY (workspace_id, conversation_id) REFERENCES conversations(workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX message_words_by_word ON public.message_words USING gin (words) WITH (fastupdate=off);

create table messages (
  workspace_id uuid not null,
  conversation_id uuid not null,
  id uuid not null,
  direction text not null,
  sender_type text not null,
  sender_id uuid,
  content_type text not null,
  content_text text,
  content jsonb,
  media_url text,
  template_name text,
  external_id text,
  status text not null,
  error text,
  reply_to_message_id uuid,
  interactive_reply_id text,
  sent_at timestamp with time zone,
  deleted_at timestamp with time zone,
  created_at timestamp with time zone not null,
  broadcast_id uuid,
  constraint messages_pkey PRIMARY KEY (workspace_id, conversation_id, id),
  constraint messages_workspace_id_conversation_id_fkey FOREIGN KEY (workspace_id, conversation_id) REFERENCES conversations(workspace_id, id) ON DELETE CASCADE,
  constraint messages_direction_check CHECK ((direction = ANY (ARRAY['inbound'::text, 'outbound'::text]))),
  constraint messages_sender_type_check CHECK ((sender_type = ANY (ARRAY['customer'::text, 'agent'::text, 'bot'::text]))),
  constraint messages_status_check CHECK ((status = ANY (ARRAY['received'::text, 'pending'::text, 'sent'::text, 'failed'::text, 'delivered'::text, 'read'::text])))
) with (fillfactor=85);
CREATE UNIQUE INDEX messages_by_external_id ON public.messages USING btree (workspace_id, external_id) WHERE (external_id IS NOT NULL);
CREATE INDEX messages_by_id ON public.messages USING btree (id);
CREATE INDEX messages_unnamed_by_age ON public.messages USING btree (created_at) WHERE ((external_id IS NULL) AND (direction = 'outbound'::text));
CREATE INDEX messages_without_external_id ON public.messages USING btree (workspace_id, id) WHERE ((external_id IS NULL) AND (direction = 'outbound'::text));

create table migrations (
  name text not null,
  applied_at timestamp with time zone not null default now(),
  constraint migrations_pkey PRIMARY KEY (name)
);

create table plan_usage (
  workspace_id uuid not null,
  month date not null,
  message_count integer not null default 0,
  constraint plan_usage_pkey PRIMARY KEY (workspace_id, month),
  constraint plan_usage_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE
);

create table segment_members (
  workspace_id uuid not null,
  segment_id uuid not null,
  contact_id uuid not null,
  constraint segment_members_pkey PRIMARY KEY (workspace_id, segment_id, contact_id),
  constraint segment_members_workspace_id_contact_id_fkey FOREIGN KEY (workspace_id, contact_id) REFERENCES contacts(workspace_id, id) ON DELETE CASCADE,
  constraint segment_members_workspace_id_segment_id_fkey FOREIGN KEY (workspace_id, segment_id) REFERENCES segments(workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX segment_members_by_contact ON public.segment_members USING btree (workspace_id, contact_id);

create table segments (
  workspace_id uuid not null,
  id uuid not null,
  name text not null,
  name_key text not null,
  description text,
  color text not null,
  kind text not null,
  filter jsonb,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint segments_name_unique UNIQUE (workspace_id, name_key),
  constraint segments_pkey PRIMARY KEY (workspace_id, id),
  constraint segments_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE,
  constraint segments_check CHECK (((filter IS NULL) = (kind = 'static'::text))),
  constraint segments_kind_check CHECK ((kind = ANY (ARRAY['static'::text, 'dynamic'::text])))
);

create table sessions (
  workspace_id uuid not null,
  id uuid not null,
  token_hash text not null,
  member_id uuid not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  address text,
  user_agent text,
  last_seen_at timestamp with time zone,
  constraint sessions_token_hash_key UNIQUE (token_hash),
  constraint sessions_pkey PRIMARY KEY (workspace_id, id),
  constraint sessions_workspace_id_member_id_fkey FOREIGN KEY (workspace_id, member_id) REFERENCES members(workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX sessions_by_expiry ON public.sessions USING btree (expires_at);
CREATE INDEX sessions_by_member ON public.sessions USING btree (workspace_id, member_id);

create unlogged table sign_in_failures (
  address text not null,
  email_key text not null,
  started_at timestamp with time zone not null,
  failure_count integer not null,
  constraint sign_in_failures_pkey PRIMARY KEY (address, email_key)
);
CREATE INDEX sign_in_failures_by_start ON public.sign_in_failures USING btree (started_at);

create table tags (
  workspace_id uuid not null,
  id uuid not null,
  name text not null,
  name_key text not null,
  color text not null,
  created_at timestamp with time zone not null,
  constraint tags_name_unique UNIQUE (workspace_id, name_key),
  constraint tags_pkey PRIMARY KEY (workspace_id, id),
  constraint tags_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE
);

create table templates (
  workspace_id uuid not null,
  name text not null,
  language text not null,
  external_id text not null,
  status text not null,
  category text not null,
  parameter_format text not null,
  components jsonb not null,
  updated_at timestamp with time zone not null,
  status_reason text,
  quality text,
  previous_category text,
  constraint templates_pkey PRIMARY KEY (workspace_id, name, language),
  constraint templates_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE
);

create table uploads (
  workspace_id uuid not null,
  id uuid not null,
  token text not null,
  mime_type text not null,
  filename text,
  size_bytes bigint not null,
  created_by uuid not null,
  created_at timestamp with time zone not null,
  used_at timestamp with time zone,
  use_count integer not null default 0,
  constraint uploads_pkey PRIMARY KEY (workspace_id, id),
  constraint uploads_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX uploads_by_token ON public.uploads USING btree (token);
CREATE INDEX uploads_unused ON public.uploads USING btree (workspace_id, created_at) WHERE (used_at IS NULL);
CREATE INDEX uploads_unused_by_age ON public.uploads USING btree (created_at) WHERE (used_at IS NULL);

create unlogged table visitor_windows (
  key text not null,
  started_at timestamp with time zone not null,
  call_count integer not null,
  constraint visitor_windows_pkey PRIMARY KEY (key)
);
CREATE INDEX visitor_windows_by_start ON public.visitor_windows USING btree (started_at);

create table webhook_attempts (
  workspace_id uuid not null,
  endpoint_id uuid not null,
  id uuid not null,
  delivery_id uuid not null,
  event_id uuid not null,
  event text not null,
  attempt integer not null,
  status text not null,
  http_status integer,
  duration_ms integer,
  error text,
  response text,
  is_first boolean not null,
  constraint webhook_attempts_pkey PRIMARY KEY (workspace_id, endpoint_id, id),
  constraint webhook_attempts_status_check CHECK ((status = ANY (ARRAY['delivered'::text, 'pending'::text, 'failed'::text, 'canceled'::text])))
) partition by RANGE (id);
CREATE INDEX webhook_attempts_by_delivery ON ONLY public.webhook_attempts USING btree (workspace_id, delivery_id);
CREATE INDEX webhook_attempts_in_vain ON ONLY public.webhook_attempts USING btree (workspace_id, endpoint_id, status, id) WHERE (status = ANY (ARRAY['failed'::text, 'canceled'::text]));

create table webhook_deliveries (
  workspace_id uuid not null,
  endpoint_id uuid not null,
  id uuid not null,
  event_id uuid not null,
  attempt_count integer not null default 0,
  next_attempt_at timestamp with time zone not null default now(),
  created_at timestamp with time zone not null default now(),
  leased_until timestamp with time zone,
  is_retry boolean not null default false,
  constraint webhook_deliveries_pkey PRIMARY KEY (workspace_id, endpoint_id, id),
  constraint webhook_deliveries_workspace_id_endpoint_id_fkey FOREIGN KEY (workspace_id, endpoint_id) REFERENCES webhook_endpoints(workspace_id, id) ON DELETE CASCADE
) with (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=1000, fillfactor=50);
CREATE INDEX webhook_deliveries_due ON public.webhook_deliveries USING btree (endpoint_id, is_retry, next_attempt_at);

create table webhook_endpoints (
  workspace_id uuid not null,
  id uuid not null,
  url text not null,
  events text[] not null,
  provider text not null default 'api'::text,
  is_active boolean not null default true,
  secret text not null,
  last_delivery_at timestamp with time zone,
  failure_count integer not null default 0,
  created_at timestamp with time zone not null,
  last_attempt_at timestamp with time zone,
  last_attempt_http_status integer,
  last_attempt_error text,
  constraint webhook_endpoints_pkey PRIMARY KEY (workspace_id, id),
  constraint webhook_endpoints_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE,
  constraint webhook_endpoints_events_check CHECK ((cardinality(events) > 0)),
  constraint webhook_endpoints_provider_check CHECK ((provider = ANY (ARRAY['api'::text, 'tool_a'::text, 'tool_b'::text])))
);

create table webhook_events (
  workspace_id uuid not null,
  id uuid not null,
  event text not null,
  body text not null,
  occurred_at timestamp with time zone not null,
  constraint webhook_events_pkey PRIMARY KEY (workspace_id, id)
) partition by RANGE (id);

create table webhook_listeners (
  workspace_id uuid not null,
  id uuid not null,
  events text[] not null,
  expires_at timestamp with time zone not null,
  constraint webhook_listeners_pkey PRIMARY KEY (workspace_id, id),
  constraint webhook_listeners_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE,
  constraint webhook_listeners_events_check CHECK ((cardinality(events) > 0))
);

create table workspaces (
  id uuid not null,
  name text not null,
  default_country text not null,
  plan_messages_per_month integer,
  plan_state text not null default 'active'::text,
  is_demo boolean not null default false,
  created_at timestamp with time zone not null,
  opt_out_words text[] not null default '{}'::text[],
  constraint workspaces_pkey PRIMARY KEY (id),
  constraint workspaces_plan_messages_per_month_check CHECK ((plan_messages_per_month >= 0)),
  constraint workspaces_plan_state_check CHECK ((plan_state = ANY (ARRAY['active'::text, 'lapsed'::text])))
);
CREATE UNIQUE INDEX workspaces_one_demo ON public.workspaces USING btree (is_demo) WHERE is_demo;
CREATE INDEX workspaces_with_limit ON public.workspaces USING btree (id) WHERE (plan_messages_per_month IS NOT NULL);
