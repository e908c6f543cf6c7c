/**
 * Baseline: a plain implementation, as most teams would write it with the same framework, driver and database: one statement
 * after the other, prepared by the driver. For a list: one for the key, one for the rate and one for the page.
 * Usage: `plain.ts <port> <address as JSON> <provider as JSON>`
 */
import Fastify from 'fastify'
import postgres from 'postgres'
import { sha256 } from '../server/lib/crypto.ts'
import { addPlainMessages, type PlainProvider } from './plain-messages.ts'
import { addPlainWrites } from './plain-writes.ts'

const [port, address = '{}', provider = 'null'] = process.argv.slice(2)
const sql = postgres({ ...JSON.parse(address), max: 10 })
const app = Fastify()

app.decorateRequest('workspaceId', '')
app.addHook('onRequest', async (request, reply) => {
  if (request.url === '/readyz' || request.url.startsWith('/callback')) return
  const token = request.headers.authorization?.slice('Bearer '.length) ?? ''
  const [key] = await sql`
    select workspace_id, id from api_keys
    where key_hash = ${sha256(token)} and revoked_at is null and (expires_at is null or expires_at > now())`
  if (!key) return reply.code(401).send({ error: { code: 'unauthorized', message: 'a valid API key is required' } })
  await sql`
    insert into api_key_windows as w (workspace_id, key_id, started_at, request_count)
    values (${key.workspace_id}, ${key.id}, now(), 1)
    on conflict (workspace_id, key_id) do update set
      started_at = case when w.started_at > now() - interval '60 seconds' then w.started_at else now() end,
      request_count = case when w.started_at > now() - interval '60 seconds' then w.request_count + 1 else 1 end`
  request.workspaceId = key.workspace_id
})

declare module 'fastify' {
  interface FastifyRequest {
    workspaceId: string
  }
}

type Query = { limit?: string; before?: string }
const readLimit = ({ limit }: Query) => Number(limit ?? 50)
const readBefore = ({ before }: Query) => before ?? 'ffffffff-ffff-ffff-ffff-ffffffffffff'

const tagsOf = (contact: postgres.Fragment) => sql`
  coalesce((
    select json_agg(json_build_object('id', t.id, 'name', t.name, 'color', t.color) order by t.name)
    from contact_tags ct join tags t on t.workspace_id = ct.workspace_id and t.id = ct.tag_id
    where ct.workspace_id = c.workspace_id and ct.contact_id = ${contact}
  ), '[]')`

function toPage(rows: readonly postgres.Row[], limit: number) {
  const data = rows.slice(0, limit)
  return { data, meta: { next_cursor: rows.length > limit ? data.at(-1)?.id : null } }
}

app.get<{ Querystring: Query }>('/v1/conversations', async ({ workspaceId, query }) => {
  const limit = readLimit(query)
  const rows = await sql`
    select v.id, v.channel, v.contact_id, v.status, v.assigned_agent_id, v.last_message_text, v.last_message_at,
      v.last_inbound_at, v.unread_count, v.snoozed_until, v.created_at, v.updated_at,
      coalesce((
        select json_agg(json_build_object('id', l.id, 'name', l.name, 'color', l.color) order by l.name)
        from conversation_labels vl join labels l on l.workspace_id = vl.workspace_id and l.id = vl.label_id
        where vl.workspace_id = v.workspace_id and vl.conversation_id = v.id
      ), '[]') as labels,
      c.phone, c.social_username, c.name, c.email, c.company, ${tagsOf(sql`c.id`)} as tags
    from conversations v
    join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
    where v.workspace_id = ${workspaceId} and v.id < ${readBefore(query)}
    order by v.id desc
    limit ${limit + 1}`
  const shown = rows.map(({ phone, social_username, name, email, company, tags, ...conversation }) => {
    const contact = { id: conversation.contact_id, phone, social_username, name, email, company, tags }
    return { ...conversation, contact }
  })
  return toPage(shown, limit)
})

app.get<{ Querystring: Query }>('/v1/contacts', async ({ workspaceId, query }) => {
  const limit = readLimit(query)
  const rows = await sql`
    select c.id, c.phone, c.social_username, c.name, c.email, c.company, c.avatar_url, c.created_at, c.updated_at,
      array(
        select distinct i.channel from contact_identities i
        where i.workspace_id = c.workspace_id and i.contact_id = c.id order by i.channel
      ) as channels,
      ${tagsOf(sql`c.id`)} as tags
    from contacts c
    where c.workspace_id = ${workspaceId} and c.id < ${readBefore(query)}
    order by c.id desc
    limit ${limit + 1}`
  return toPage(rows, limit)
})

app.get<{ Querystring: Query; Params: { id: string } }>(
  '/v1/conversations/:id/messages',
  async ({ workspaceId, query, params }) => {
    const limit = readLimit(query)
    const [conversation] = await sql`
      select id from conversations where workspace_id = ${workspaceId} and id = ${params.id}`
    if (!conversation) return { error: { code: 'not_found', message: 'conversation: not found' } }
    const rows = await sql`
      select id, conversation_id, direction, sender_type, content_type, content_text, content, media_url, template_name,
        broadcast_id,
        external_id, status, reply_to_message_id, interactive_reply_id, deleted_at, created_at
      from messages
      where workspace_id = ${workspaceId} and conversation_id = ${params.id} and id < ${readBefore(query)}
      order by id desc
      limit ${limit + 1}`
    return toPage(rows, limit)
  },
)

const sending: PlainProvider | null = JSON.parse(provider)
if (sending) addPlainMessages(app, sql, sending)
addPlainWrites(app, sql)

app.get('/readyz', async () => 'ready')

await app.listen({ port: Number(port), host: '127.0.0.1' })
