/** Creates up to a million contacts inside the database, with realistic names, phones, companies and two tags. */
import type { Db } from '../server/lib/postgres/db.ts'

const first = [
  'Ada',
  'Bruno',
  'Chloé',
  'Dmitri',
  'Elena',
  'Farid',
  'Grace',
  'Hugo',
  'Inés',
  'Jonas',
  'Katarzyna',
  'Liam',
]
const last = [
  'Abbott',
  'Bergström',
  'Castellano',
  'Dufresne',
  'Eriksen',
  'Fontaine',
  'Gallagher',
  'Hashimoto',
  'Ivanov',
]

/** Three syllables form one of 4,096 rare names. */
const syllables = 'ba de fi go hu ja ke lo mi nu pa re so ti vu za'.split(' ')

/** Phone number of person `i`. */
export const phoneOf = (i: number): string => `+1415${2_000_000 + i}`

/** Inserts the people from `from` to `to` (exclusive), oldest first, as the service would store them. */
export async function insertPeople(pool: Db, workspaceId: string, from: number, to: number): Promise<void> {
  // The temporary table exists in one session.
  const db = await pool.reserve()
  await db`
    insert into tags (workspace_id, id, name, name_key, color, created_at)
    values (${workspaceId}, '01890000-0000-7000-8000-000000000001', 'Regular', 'regular', '#0d9488', now()),
      (${workspaceId}, '01890000-0000-7000-8000-000000000002', 'Subscriber', 'subscriber', '#e11d48', now())
    on conflict do nothing`
  await db`
    create temporary table people as
    select i, moment as created_at,
      (substr(time, 1, 8) || '-' || substr(time, 9) || '-7' || substr(noise, 1, 3) || '-8' || substr(noise, 4, 3) || '-' ||
        substr(noise, 7, 12))::uuid as id,
      (${first}::text[])[1 + i % ${first.length}] || ' ' || (${last}::text[])[1 + (i / 7) % ${last.length}] || ' ' ||
        initcap(syllables[1 + (i * 7) % 16] || syllables[1 + (i * 13 / 16) % 16] || syllables[1 + (i * 29 / 256) % 16]) as name,
      '+1415' || lpad((2000000 + i)::text, 7, '0') as phone,
      'person' || i || '@' || substr(noise, 24, 4) || '.example' as email,
      case when i % 3 = 0 then 'Company ' || substr(noise, 16, 4) end as company
    from (select ${syllables}::text[] as syllables) as constants, generate_series(${from}::int, ${to - 1}::int) as i,
      lateral (select timestamptz '2025-01-01' + i * interval '1 second' as moment, md5(i::text) as noise) as person,
      lateral (select lpad(to_hex((extract(epoch from moment) * 1000)::bigint), 12, '0') as time) as stamped`
  await db`
    insert into contacts (workspace_id, id, phone, name, name_key, email, email_key, company, company_key, created_at, updated_at)
    select ${workspaceId}, id, phone, name, lower(name), email, email, company, lower(company), created_at, created_at from people`
  await db`
    insert into contact_identities (workspace_id, channel, external_id, contact_id)
    select ${workspaceId}, 'msgapp', phone, id from people`
  await db`
    insert into contact_tags (workspace_id, contact_id, tag_id)
    select ${workspaceId}::uuid, id, '01890000-0000-7000-8000-000000000001'::uuid from people where i % 10 = 0
    union all
    select ${workspaceId}::uuid, id, '01890000-0000-7000-8000-000000000002'::uuid from people where i % 2 = 0`
  await db`drop table people`
  await db`vacuum analyze contacts`
  await db`vacuum analyze contact_identities`
  await db`vacuum analyze contact_tags`
  db.release()
}

/** Inserts a conversation, as old as the contact, for every contact that has none. */
export async function insertConversations(db: Db, workspaceId: string): Promise<void> {
  await db`
    insert into conversations (workspace_id, id, contact_id, channel, created_at, updated_at)
    select workspace_id, id, id, 'msgapp', created_at, created_at from contacts where workspace_id = ${workspaceId}
    order by id
    on conflict do nothing`
  await db`vacuum analyze conversations`
}
