-- Several connections per channel: a name, an address and a default, and disconnected ones that keep their conversations.

-- A process of an earlier release knows one connection per channel and finds it by `channel`. So this column is set for the default connection
-- only, which keeps it unique, and `channel_name` has the channel of every connection.
alter table channel_connections
  add column channel_name text check (channel_name in ('msgapp', 'social', 'web')),
  add column name text,
  add column name_key text,
  add column address text,
  add column scope text not null default '',
  add column disconnected_at timestamptz,
  alter column channel drop not null;
comment on table channel_connections is 'The accounts of a workspace on its channels: numbers, social accounts, sites. Secrets are sealed.';
comment on column channel_connections.channel is
  'The channel whose default this connection is. Null: it is not the default. Earlier releases see default connections only.';
comment on column channel_connections.channel_name is 'The channel.';
comment on column channel_connections.name_key is 'The name, case-folded. Unique among the connections that are not disconnected.';
comment on column channel_connections.address is
  'The phone number in E.164, the user name, or the host of the site. Null until it is known.';
comment on column channel_connections.scope is
  'Stands before user ids of customers and names of templates, which are unique per provider account only. Empty for the first account of a channel.';
comment on column channel_connections.disconnected_at is
  'When a member disconnected it. The row stays while it has conversations; its secrets are empty.';

update channel_connections set channel_name = channel,
  name = case channel when 'msgapp' then 'Phone number' when 'social' then 'Social account' else 'Website' end,
  name_key = case channel when 'msgapp' then 'phone number' when 'social' then 'social account' else 'website' end;
alter table channel_connections
  alter column channel_name set not null, alter column name set not null, alter column name_key set not null;
create unique index channel_connections_by_name on channel_connections (workspace_id, name_key) where disconnected_at is null;

-- Earlier releases write `channel` only. A later release drops this trigger.
create function name_connection() returns trigger language plpgsql as $$
begin
  new.channel_name := new.channel;
  new.name := case new.channel when 'msgapp' then 'Phone number' when 'social' then 'Social account' else 'Website' end;
  if exists (
    select from channel_connections c
    where c.workspace_id = new.workspace_id and c.name_key = lower(new.name) and c.disconnected_at is null and c.id <> new.id
  ) then
    new.name := new.name || ' ' || right(new.id::text, 6);
  end if;
  new.name_key := lower(new.name);
  return new;
end $$;
create trigger name_connection before insert on channel_connections for each row
when (new.channel_name is null)
execute function name_connection();

-- A connection that is deleted stays as a disconnected one, without its secrets, while it has conversations or a broadcast that is not
-- completed: that broadcast must not leave from another number. Its settings are used when the same account is connected again; only
-- the operator sets a private URL, so that right stays with the URL. A simulator is not kept: it does not know the next tokens.
create function keep_connection() returns trigger language plpgsql as $$
begin
  insert into channel_connections (workspace_id, id, channel_name, name, name_key, address, account_id, phone_number_id, base_url,
    is_private, api_version, scope, secrets, messages_per_second, widget, disconnected_at, created_at, updated_at)
  select old.workspace_id, old.id, old.channel_name, old.name, old.name_key, old.address, old.account_id, old.phone_number_id,
    old.base_url, old.is_private, old.api_version, old.scope, '', old.messages_per_second, old.widget, now(), old.created_at, now()
  where exists (select from workspaces w where w.id = old.workspace_id)
    and (
      exists (select from conversations v where v.workspace_id = old.workspace_id and v.connection_id = old.id)
      or exists (
        select from broadcasts b
        where b.workspace_id = old.workspace_id and b.completed_at is null and b.connection_id = old.id
      )
    );
  return null;
end $$;
create trigger keep_connection after delete on channel_connections for each row
when (old.disconnected_at is null)
execute function keep_connection();

-- 0057 fills the column for the conversations that exist.
alter table conversations add column connection_id uuid;
comment on table conversations is 'All messages with one contact on one connection.';
comment on column conversations.connection_id is 'The connection that received or sent the first message. Replies leave from it.';

-- Earlier releases do not write `connection_id`. A later release drops this trigger. It takes the default
-- connection, or the last one that was disconnected; without any, a disconnected one is added, with the id of the conversation.
create function connect_conversation() returns trigger language plpgsql as $$
begin
  select c.id into new.connection_id from channel_connections c
  where c.workspace_id = new.workspace_id and c.channel_name = new.channel
  order by c.channel is null, c.disconnected_at desc nulls first
  limit 1;
  if new.connection_id is null then
    insert into channel_connections (workspace_id, id, channel_name, name, name_key, secrets, disconnected_at, created_at, updated_at)
    values (new.workspace_id, new.id, new.channel, 'Removed connection', 'removed connection', '', now(), now(), now())
    on conflict do nothing;
    new.connection_id := new.id;
  end if;
  return new;
end $$;
create trigger connect_conversation before insert on conversations for each row
when (new.connection_id is null)
execute function connect_conversation();

alter table media add column connection_id uuid;
comment on column media.connection_id is 'The connection that has the file. Null: the default connection of the channel.';

-- Null in broadcasts of earlier releases: the default number sends them.
alter table broadcasts add column connection_id uuid;
comment on column broadcasts.connection_id is 'The number that sends it. Null: the default number.';

comment on column contact_identities.external_id is
  'The phone number, user id or visitor id. A user id of a further provider account has the scope of its connections and a slash before it.';
comment on column templates.name is
  'The name. A template of a further provider account has the scope of its connections and a slash before it.';
