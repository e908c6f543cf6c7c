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
  constraint contacts_pkey PRIMARY KEY (workspace_id, id),
  constraint contacts_workspace_id_fkey FOREIGN KEY (workspace_id) REFERENCES workspaces(id) ON DELETE CASCADE
);
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
  constraint conversations_workspace_id_contact_id_fkey FOREIGN KEY (workspace_id, contact_id) REFERENCES contacts(workspace_id, id) ON DELETE CASCADE,
  constraint conversations_channel_check CHECK ((channel = ANY (ARRAY['msgapp'::text, 'social'::text, 'web'::text]))),
  constraint conversations_status_check CHECK ((status = ANY (ARRAY['open'::text, 'pending'::text, 'closed'::text])))
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

create table migrations (
  name text not null,
  applied_at timestamp with time zone not null default now(),
  constraint migrations_pkey PRIMARY KEY (name)
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

create table workspaces (
  id uuid not null,
  name text not null,
  default_country text not null,
  plan_messages_per_month integer,
  plan_state text not null default 'active'::text,
  is_demo boolean not null default false,
  created_at timestamp with time zone not null,
  constraint workspaces_pkey PRIMARY KEY (id),
  constraint workspaces_plan_messages_per_month_check CHECK ((plan_messages_per_month >= 0)),
  constraint workspaces_plan_state_check CHECK ((plan_state = ANY (ARRAY['active'::text, 'lapsed'::text])))
);
CREATE UNIQUE INDEX workspaces_one_demo ON public.workspaces USING btree (is_demo) WHERE is_demo;
