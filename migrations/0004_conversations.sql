-- One conversation a contact and channel.

create table conversations (
  workspace_id uuid not null,
  id uuid not null,
  contact_id uuid not null,
  channel text not null check (channel in ('msgapp', 'social', 'web')),
  status text not null default 'open' check (status in ('open', 'pending', 'closed')),
  assigned_agent_id uuid,
  last_message_text text,
  last_message_at timestamptz,
  last_inbound_at timestamptz,
  unread_count integer not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (workspace_id, id),
  constraint conversations_contact_channel_unique unique (workspace_id, contact_id, channel),
  foreign key (workspace_id, contact_id) references contacts on delete cascade
);
