/**
 * `/web-chat/{site id}`: what the widget on somebody's site calls.
 *
 * A visitor is a sealed token and nothing else until the first message makes
 * the contact and the conversation: whoever only looks leaves no row. These
 * are the only paths another site's page may call, so the only ones with CORS
 * headers; there is no cookie to borrow.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Channel, Connection } from '../channels/channel.ts'
import { getConnectionById } from '../channels/connections.ts'
import { findThreads } from '../conversations/threads.ts'
import { SealError, type Sealer } from '../lib/crypto.ts'
import type { Db } from '../lib/db.ts'
import { ApiError, badRequest, notFound } from '../lib/errors.ts'
import { createCrowd } from '../lib/event-stream.ts'
import { isUuid, newId, timeOfId } from '../lib/id.ts'
import type { Live } from '../lib/live.ts'
import { readPosition } from '../lib/page.ts'
import { DataOf, ListOf, ListQuery, Type } from '../lib/schema.ts'
import type { App } from '../lib/server.ts'
import { lengthOf } from '../lib/text.ts'
import { toReceived } from './inbound.ts'
import type { Intake } from './intake.ts'
import { getMessage, listMessages, listMessagesAfter } from './messages.ts'
import { messageFields } from './routes.ts'

export type WebChat = {
  db: Db
  sealer: Sealer
  web: Channel
  intake: Intake
  live: Live
  publicUrl: string
}

const cors = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'GET, POST, OPTIONS',
  'access-control-allow-headers': 'content-type, x-visitor-token, last-event-id',
  'access-control-expose-headers': 'x-request-id, retry-after',
  'access-control-max-age': '86400',
}

const maxTextLength = 4096
/** A person does not type faster. */
const messagesPerMinute = 60
const streamsPerVisitor = 8
const heartbeatMs = 25_000
/** An id is made before its message is committed, so one may appear behind another that was begun later. */
const overlapMs = 10_000

const Site = Type.Object({ site_id: Type.String() })
const VisitorMessage = Type.Object(messageFields)
const NewVisitorMessage = Type.Object({
  text: Type.String(),
  name: Type.Optional(Type.String({ maxLength: 500 })),
  email: Type.Optional(Type.String({ maxLength: 320 })),
})

export const webChatRoutes =
  ({ db, sealer, web, intake, live, publicUrl }: WebChat) =>
  async (app: App) => {
    const pace = createPace()
    const crowd = createCrowd(app, streamsPerVisitor)
    app.addHook('onRequest', (_request, reply, done) => {
      reply.headers(cors)
      done()
    })
    app.options('/web-chat/*', async (_request, reply) => reply.code(204).send())

    const requireSite = async (id: string): Promise<Connection> => {
      const site = await getConnectionById(db, sealer, id)
      if (site?.channel !== 'web') throw notFound('site')
      return site
    }

    /** Who calls: the token of the header, or of the query where a browser cannot set headers. */
    const requireVisitor = (site: Connection, token: unknown): string => {
      const visitorId = typeof token === 'string' ? openToken(sealer, site.id, token) : undefined
      if (!visitorId) throw new ApiError('unauthorized', 'a valid visitor token is required')
      return visitorId
    }

    const findThread = async (site: Connection, visitorId: string) => {
      const who = { workspace_id: site.workspace_id, channel: 'web', phone: null, user_id: visitorId } as const
      const [thread] = await findThreads(db, [who])
      return thread?.conversation_id ?? undefined
    }

    app.post(
      '/web-chat/:site_id/visitors',
      {
        schema: {
          params: Site,
          response: { 201: DataOf(Type.Object({ visitor_token: Type.String() })) },
        },
      },
      async ({ params }, reply) => {
        const site = await requireSite(params.site_id)
        reply.code(201)
        return { data: { visitor_token: sealer.seal(JSON.stringify([site.id, newId()])) } }
      },
    )

    app.post(
      '/web-chat/:site_id/messages',
      { schema: { params: Site, body: NewVisitorMessage, response: { 201: DataOf(VisitorMessage) } } },
      async (request, reply) => {
        const { text, name, email } = request.body
        const length = lengthOf(text)
        if (length < 1 || length > maxTextLength) {
          throw badRequest(`text: must have 1 to ${maxTextLength} characters`)
        }
        const site = await requireSite(request.params.site_id)
        const visitorId = requireVisitor(site, request.headers['x-visitor-token'])
        pace(visitorId)
        const said = {
          visitor_id: visitorId,
          message_id: newId(),
          text,
          name: name ?? null,
          at: new Date().toISOString(),
        }
        const [report] = web.parse(site, said)
        if (report?.kind !== 'message') throw badRequest('text: cannot be kept')
        const more = { email: email ?? null }
        const kept = await intake.keep(toReceived(site.workspace_id, 'web', report, more))
        if (!kept) throw new Error("a visitor's message is there already")
        live.announce(visitorTopic(visitorId))
        const place = { conversationId: kept.conversation_id, id: kept.id, channel: 'web' } as const
        const message = await getMessage(db, site.workspace_id, place, publicUrl)
        if (!message) throw new Error('a message just kept is not there')
        reply.code(201)
        return { data: message }
      },
    )

    app.get(
      '/web-chat/:site_id/messages',
      { schema: { params: Site, querystring: ListQuery({}), response: { 200: ListOf(VisitorMessage) } } },
      async (request) => {
        const site = await requireSite(request.params.site_id)
        const visitorId = requireVisitor(site, request.headers['x-visitor-token'])
        const conversationId = await findThread(site, visitorId)
        if (!conversationId) return { data: [], meta: { next_cursor: null } }
        return listMessages(db, site.workspace_id, conversationId, publicUrl, readPosition(request.query))
      },
    )

    app.get(
      '/web-chat/:site_id/stream',
      { schema: { params: Site, querystring: Type.Object({ token: Type.Optional(Type.Unknown()) }) } },
      async (request, reply) => {
        const site = await requireSite(request.params.site_id)
        const visitorId = requireVisitor(site, request.query.token)
        crowd.enter(reply, visitorId)
        const conversationId = await findThread(site, visitorId)
        const after = await startOf(request, site, conversationId)
        await show(reply, site, visitorId, { conversationId, after })
      },
    )

    /** Go on behind the message a browser saw last, or with what comes from now on. */
    async function startOf(
      request: FastifyRequest,
      site: Connection,
      conversationId: string | undefined,
    ): Promise<string> {
      const seen = request.headers['last-event-id']
      if (typeof seen === 'string' && isUuid(seen)) return seen.toLowerCase()
      if (!conversationId) return bottom
      const newest = await listMessages(db, site.workspace_id, conversationId, publicUrl, { limit: 1, before: top })
      return newest.data[0]?.id ?? bottom
    }

    /** Everything behind this message, oldest first. */
    async function listSince(site: Connection, conversationId: string, after: string) {
      const messages: Awaited<ReturnType<typeof listMessagesAfter>> = []
      for (let from = after; ; ) {
        const place = { conversationId, after: from, channel: 'web' } as const
        const page = await listMessagesAfter(db, site.workspace_id, place, publicUrl)
        messages.push(...page)
        const last = page.at(-1)
        if (!last) return messages
        from = last.id
      }
    }

    type From = { conversationId: string | undefined; after: string }

    async function show(reply: FastifyReply, site: Connection, visitorId: string, from: From): Promise<void> {
      const stream = crowd.open(reply, { headers: cors, heartbeatMs })
      let { conversationId, after } = from
      /** Messages of the last moments that the page has. */
      let shown: Set<string> | undefined
      let looking = false
      let again = false

      const look = async () => {
        if (!conversationId) {
          conversationId = await findThread(site, visitorId)
          if (!conversationId) return
          stops.push(live.listen(conversationTopic(conversationId), heard))
        }
        const recent = await listSince(site, conversationId, earlier(after, overlapMs))
        shown ??= new Set(recent.filter(({ id }) => id <= after).map(({ id }) => id))
        for (const message of recent) {
          if (shown.has(message.id)) continue
          const { error: _, content: __, sender_id: ___, ...fields } = message
          // A page resumes behind the newest it saw, also when an older one came after it.
          if (message.id > after) after = message.id
          stream.send('message', fields, after)
        }
        shown = new Set(recent.map(({ id }) => id))
      }
      /** One look at a time; whatever is heard during one means another. */
      const heard = async () => {
        again = true
        if (looking) return
        looking = true
        while (again && stream.isOpen()) {
          again = false
          await look().catch((error) => app.log.warn({ err: error }, 'a stream could not look for news'))
        }
        looking = false
      }
      const stops = [live.listen(conversationId ? conversationTopic(conversationId) : visitorTopic(visitorId), heard)]
      stream.onClose(() => {
        for (const stop of stops) stop()
      })
      await heard()
    }
  }

const bottom = '00000000-0000-0000-0000-000000000000'
const top = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** The smallest id of so much before. */
function earlier(id: string, ms: number): string {
  const time = Math.max(0, Date.parse(timeOfId(id)) - ms)
    .toString(16)
    .padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}${bottom.slice(13)}`
}

const visitorTopic = (visitorId: string) => `visitor:${visitorId}`
export const conversationTopic = (conversationId: string) => `conversation:${conversationId}`

function openToken(sealer: Sealer, siteId: string, token: string): string | undefined {
  try {
    const [site, visitorId] = JSON.parse(sealer.open(token)) as unknown[]
    return site === siteId && typeof visitorId === 'string' ? visitorId : undefined
  } catch (error) {
    if (error instanceof SealError || error instanceof SyntaxError) return undefined
    throw error
  }
}

/** So many messages a visitor and minute. */
function createPace(): (visitorId: string) => void {
  const counts = new Map<string, { startedAt: number; count: number }>()
  return (visitorId) => {
    const now = Date.now()
    for (const [id, { startedAt }] of counts) {
      if (now - startedAt < 60_000) break
      counts.delete(id)
    }
    const window = counts.get(visitorId) ?? { startedAt: now, count: 0 }
    counts.set(visitorId, window)
    if (++window.count > messagesPerMinute) {
      const seconds = Math.ceil((window.startedAt + 60_000 - now) / 1000)
      throw new ApiError('rate_limited', `over ${messagesPerMinute} messages a minute`, {
        'retry-after': String(seconds),
      })
    }
  }
}
