/**
 * Baseline: writes of the API as most teams would write them, one statement after the other in a transaction: the row, what belongs to
 * it, and the endpoints of its event.
 */
import type { FastifyInstance } from 'fastify'
import type { Sql, TransactionSql } from 'postgres'
import { newId } from '../server/lib/id.ts'
import { requireNoEndpoints } from './plain-inbound.ts'

type ById<Body> = { Params: { id: string }; Body: Body }
type Contact = { phone: string; name: string; tags: string[] }
type Segment = { name: string; filter: { match: 'all'; rules: { field: 'tag'; op: 'has'; value: string }[] } }

export function addPlainWrites(app: FastifyInstance, sql: Sql): void {
  app.post<{ Body: Contact }>('/v1/contacts', async ({ workspaceId, body: { phone, name, tags } }, reply) => {
    const data = await sql.begin(async (tx) => {
      const [known] = await tx`
        select contact_id from contact_identities
        where workspace_id = ${workspaceId} and channel = 'msgapp' and external_id = ${phone}`
      if (known) throw new Error('the benchmark creates contacts once')
      const id = newId()
      await tx`
        insert into contacts (workspace_id, id, phone, name, name_key, created_at, updated_at)
        values (${workspaceId}, ${id}, ${phone}, ${name}, ${name.toLowerCase()}, now(), now())`
      await tx`
        insert into contact_identities (workspace_id, channel, external_id, contact_id)
        values (${workspaceId}, 'msgapp', ${phone}, ${id})`
      for (const tag of tags) await addTag(tx, workspaceId, id, tag)
      await requireNoEndpoints(tx, workspaceId, 'contact.created')
      return readContact(tx, workspaceId, id)
    })
    return reply.code(201).send({ data })
  })

  app.patch<ById<{ name: string }>>('/v1/contacts/:id', async ({ workspaceId, params: { id }, body: { name } }) => ({
    data: await sql.begin(async (tx) => {
      await lock(tx`select id from contacts where workspace_id = ${workspaceId} and id = ${id} for no key update`)
      await tx`
        update contacts set name = ${name}, name_key = ${name.toLowerCase()}, updated_at = now()
        where workspace_id = ${workspaceId} and id = ${id}`
      await requireNoEndpoints(tx, workspaceId, 'contact.updated')
      return readContact(tx, workspaceId, id)
    }),
  }))

  app.patch<ById<{ status: string }>>('/v1/conversations/:id', async ({ workspaceId, params: { id }, body }) => ({
    data: await sql.begin(async (tx) => {
      await lock(tx`
        select id from conversations where workspace_id = ${workspaceId} and id = ${id} for no key update`)
      await tx`
        update conversations set status = ${body.status}, updated_at = now() where workspace_id = ${workspaceId} and id = ${id}`
      await tx`
        insert into timeline_entries (workspace_id, conversation_id, id, kind, details, created_at)
        values (${workspaceId}, ${id}, ${newId()}, 'status', ${tx.json({ status: body.status })}, now())`
      await requireNoEndpoints(tx, workspaceId, 'conversation.updated')
      const [row] = await tx`
        select v.id, v.status, v.channel, v.updated_at, c.name, c.phone from conversations v
        join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
        where v.workspace_id = ${workspaceId} and v.id = ${id}`
      return row
    }),
  }))

  app.post<ById<{ text: string }>>('/v1/conversations/:id/notes', async ({ workspaceId, params, body }, reply) => {
    const data = await sql.begin(async (tx) => {
      await lock(
        tx`select id from conversations where workspace_id = ${workspaceId} and id = ${params.id} for no key update`,
      )
      const id = newId()
      await tx`
        insert into timeline_entries (workspace_id, conversation_id, id, kind, text, created_at)
        values (${workspaceId}, ${params.id}, ${id}, 'note', ${body.text}, now())`
      await tx`update conversations set updated_at = now() where workspace_id = ${workspaceId} and id = ${params.id}`
      return { id, text: body.text }
    })
    return reply.code(201).send({ data })
  })

  app.post<{ Body: Segment }>('/v1/segments', async ({ workspaceId, body: { name, filter } }, reply) => {
    const id = newId()
    const [data] = await sql`
      insert into segments (workspace_id, id, name, name_key, color, kind, filter, created_at, updated_at)
      values (${workspaceId}, ${id}, ${name}, ${name.toLowerCase()}, '#2f6fde', 'dynamic', ${sql.json(filter)}, now(), now())
      returning id, name, color, kind, filter, created_at, updated_at`
    const [count] = await sql`
      select count(*)::int as count from contacts c
      join contact_tags ct on ct.workspace_id = c.workspace_id and ct.contact_id = c.id
      join tags t on t.workspace_id = ct.workspace_id and t.id = ct.tag_id
      where c.workspace_id = ${workspaceId} and t.name_key = ${filter.rules[0]?.value ?? ''}`
    return reply.code(201).send({ data: { ...data, ...count } })
  })

  app.patch<ById<{ events: string[] }>>(
    '/v1/webhooks/:id',
    async ({ workspaceId, params: { id }, body: { events } }) => {
      const [data] = await sql`
      update webhook_endpoints set events = ${events} where workspace_id = ${workspaceId} and id = ${id}
      returning id, url, events, is_active, created_at`
      return { data }
    },
  )
}

async function lock(rows: Promise<readonly unknown[]>): Promise<void> {
  if ((await rows).length === 0) throw new Error('the benchmark changes rows that exist')
}

async function addTag(sql: TransactionSql, workspaceId: string, contactId: string, name: string): Promise<void> {
  const [tag] = await sql`select id from tags where workspace_id = ${workspaceId} and name_key = ${name.toLowerCase()}`
  if (!tag) throw new Error('the benchmark creates its tags before')
  await sql`
    insert into contact_tags (workspace_id, contact_id, tag_id) values (${workspaceId}, ${contactId}, ${tag.id})`
}

async function readContact(sql: TransactionSql, workspaceId: string, id: string) {
  const [contact] = await sql`
    select id, phone, name, email, company, attributes, created_at, updated_at from contacts
    where workspace_id = ${workspaceId} and id = ${id}`
  const tags = await sql`
    select t.id, t.name, t.color from contact_tags ct
    join tags t on t.workspace_id = ct.workspace_id and t.id = ct.tag_id
    where ct.workspace_id = ${workspaceId} and ct.contact_id = ${id} order by t.name`
  return { ...contact, tags }
}
