/**
 * The identities of a contact: the phone numbers, user ids and visitor ids by which channels know the person, each with the connection
 * that reaches it and the time when the customer last used it.
 */
import { type Fragment, isoTime, type Sql } from '../lib/postgres/db.ts'

/** More than any merged contact has in practice. */
const maxIdentities = 100

/** The scope of the stored id `i.external_id` (`contacts/scope.ts`). Visitor ids and phone numbers have none. */
const scopeOf = (sql: Sql): Fragment => sql`coalesce(substring(i.external_id from '^([0-9]{1,32})/'), '')`

/** The identities of contact `c` as JSON, the last used first. Reads the contact's rows of two indexes, and their connections. */
export const identityList = (sql: Sql): Fragment => sql`array_to_json(array(
  select json_build_object('channel', i.channel, 'address', regexp_replace(i.external_id, '^[0-9]{1,32}/', ''),
    'connection_id', case
      when i.external_id like '+%' then null
      when i.channel <> 'web' then a.connection_id
      -- A visitor belongs to one site. A merged contact can have conversations on several.
      else coalesce(u.connection_id, case when a.count = 1 then a.connection_id end)
    end,
    'last_seen_at', ${isoTime(sql, sql`s.last_seen_at`)})
  from contact_identities i
  -- The conversation in which the customer last wrote with this identity.
  left join lateral (
    select v.connection_id, v.last_received_at from conversations v
    where v.workspace_id = i.workspace_id and v.contact_id = i.contact_id and v.channel = i.channel
      and v.last_inbound_identity = i.external_id
    order by v.last_received_at desc nulls last
    limit 1
  ) u on true
  -- The newest conversation on the provider account of the identity, and how many there are.
  left join lateral (
    select v.connection_id, count(*) over ()::int as count from conversations v
    join channel_connections k on k.workspace_id = v.workspace_id and k.id = v.connection_id
    where v.workspace_id = i.workspace_id and v.contact_id = i.contact_id and v.channel = i.channel
      and k.scope = ${scopeOf(sql)}
    order by coalesce(v.last_message_at, v.created_at) desc, v.id desc
    limit 1
  ) a on true
  cross join lateral (
    select greatest(u.last_received_at, (i.visit ->> 'seen_at')::timestamptz) as last_seen_at
  ) s
  where i.workspace_id = c.workspace_id and i.contact_id = c.id
  order by s.last_seen_at desc nulls last, i.channel, i.external_id
  limit ${maxIdentities}
))`
