/**
 * `/web-chat/{site id}`: the API of the chat widget on a customer's site.
 *
 * A visitor is only a sealed token until the first message creates the contact and the conversation: a visitor who does not
 * write has no row. These are the only routes that pages of other sites may call, so the only ones with CORS headers. No
 * cookie is used. If the workspace lists its allowed sites, every request from another site is refused, without CORS
 * headers.
 *
 * A page that does not know whether its message arrived sends it again with the same `client_id`. The response is the stored
 * message.
 *
 * The flow of a visitor's message, file by file: `webchat/routes.ts` → `webchat/visitors.ts` (limits) → the adapter's
 * `parse` → `messages/receiving/inbound.ts` → `messages/receiving/intake.ts` → `messages/receiving/store-inbound.ts` → 201.
 */
import type { FastifyRequest } from 'fastify'
import type { ReplyTime } from '../../common/chat-hint.ts'
import type { Times } from '../../common/times.ts'
import type { Channel, Connection } from '../channels/channel.ts'
import { type CallbackConnection, createConnectionReader } from '../channels/connections.ts'
import { toVisitMessageId } from '../channels/web/web.ts'
import { detailPolicies, positions, readWidget, type Widget } from '../channels/widget.ts'
import { recordCustomer, recordVisit } from '../contacts/visits.ts'
import { getReadUpTo } from '../conversations/conversations.ts'
import { isOpen } from '../hours/hours.ts'
import { nowIso, nowMs } from '../lib/clock.ts'
import type { Sealer } from '../lib/crypto.ts'
import { ApiError, badRequest, forbidden, notFound } from '../lib/errors.ts'
import { networkOf } from '../lib/http/client-address.ts'
import {
  createCoalescedRunner,
  createOpenLimits,
  createStreamRegistry,
  type EventStream,
} from '../lib/http/event-stream.ts'
import type { App } from '../lib/http/server.ts'
import { newId } from '../lib/id.ts'
import { cutPage, readPosition } from '../lib/page.ts'
import type { Db } from '../lib/postgres/db.ts'
import { DataOf, ListOf, ListQuery, NullableObject, NullableText, OneOf, Type, Uuid } from '../lib/schema.ts'
import type { Store } from '../lib/store.ts'
import { createTtlCache } from '../lib/ttl-cache.ts'
import { markVisitorFileUsed } from '../media/uploads.ts'
import { getMessage, getMessageNamed, listMessages } from '../messages/messages.ts'
import { toInbound } from '../messages/receiving/inbound.ts'
import type { Intake } from '../messages/receiving/intake.ts'
import { messageFields } from '../messages/resource.ts'
import { findChoice } from '../messages/sending/interactive.ts'
import { requireText } from '../messages/sending/requested-content.ts'
import type { Live } from '../signals/live.ts'
import { type Signals, siteTopic } from '../signals/signals.ts'
import { visitorFileRoutes } from './files.ts'
import { hintOf, readSiteHours } from './hint.ts'
import { createQueueFeed } from './queue-line.ts'
import { findConversation, findStart, listSenderNames, streamMessages, toVisible, visitorTopic } from './stream.ts'
import { createTypingFeed } from './typing.ts'
import { visitorRoutes } from './visitor-routes.ts'
import { countMessage, countStream, openVisitor, type Visitor } from './visitors.ts'

const replyTimes = ['minutes', 'hour', 'day'] as const satisfies ReplyTime[]

export type WebChatOptions = {
  db: Db
  sealer: Sealer
  web: Channel
  intake: Intake
  store: Store
  live: Live
  signals: Signals
  publicUrl: string
  /** A client that does not read its response for this long is disconnected. */
  drainTimeoutMs: number
  /** How soon members of a workspace usually reply; null: unknown. */
  readReplyTime: (workspaceId: string) => Promise<ReplyTime | null>
  times: Times['webChat']
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The site whose page calls, and the CORS headers of the response. */
    visit: { site: CallbackConnection; widget: Widget; cors: Record<string, string> }
  }
}

const streamsPerVisitor = 8
/** Open streams and lists per network: more than the visitors of a busy site in one large office. */
const streamsPerNetwork = 200
const listsPerNetwork = 50
const maxLists = 500
/** Characters of text in one page of a list. The page stays in memory until the client has read it. */
const maxPageChars = 100_000
const heartbeatMs = 25_000
const retryMs = 3_000
/** Every page view of a site reads the reply time and the office hours, and they change slowly. */
const hintTtlMs = 60_000

const Site = Type.Object({ site_id: Type.String() })
const WidgetSettings = Type.Object({
  title: NullableText(),
  greeting: NullableText(),
  color: Type.String(),
  position: OneOf(positions),
  ask_details: OneOf(detailPolicies),
  /** Scripts of the previous release make the hint of it. */
  reply_time: Type.Unsafe<ReplyTime | null>({ type: ['string', 'null'], enum: [...replyTimes, null] }),
  hint: NullableText(),
})
const SettingsQuery = Type.Object({
  language: Type.Optional(Type.String({ maxLength: 10, description: 'Of the texts of the widget.' })),
  time_zone: Type.Optional(Type.String({ maxLength: 80, description: 'Of the visitor.' })),
})
const { content, error: _, broadcast_id: __, ...visitorFields } = messageFields
const VisitorMessage = Type.Object({
  ...visitorFields,
  sender: NullableObject(
    { name: Type.String() },
    { description: 'The member who wrote it, if the widget shows names.' },
  ),
  content: Type.Optional(content),
  client_id: Type.Optional(Uuid),
})
const NewVisitorMessage = Type.Object({
  text: Type.Optional(Type.String()),
  file: Type.Optional(Type.String({ maxLength: 100, description: 'A file of the visitor, from `POST …/files`.' })),
  tap: Type.Optional(
    Type.Object(
      { message_id: Uuid, id: Type.String({ maxLength: 1_000 }) },
      { description: 'A tapped button or row of a message. Its title is the text of the new message.' },
    ),
  ),
  name: Type.Optional(Type.String({ maxLength: 500 })),
  email: Type.Optional(Type.String({ maxLength: 320 })),
  client_id: Type.Optional(Uuid),
  page: Type.Optional(
    Type.Object(
      { url: Type.String({ maxLength: 4_000 }), title: Type.Optional(Type.String({ maxLength: 1_000 })) },
      { description: 'The page that the visitor is on. Its query string and fragment are not stored.' },
    ),
  ),
})
const StreamQuery = Type.Object({
  token: Type.Optional(Type.Unknown()),
  page_url: Type.Optional(Type.String({ maxLength: 4_000 })),
  page_title: Type.Optional(Type.String({ maxLength: 1_000 })),
  language: Type.Optional(Type.String({ maxLength: 10, description: 'Of the line of the queue.' })),
})

export const webChatRoutes =
  ({ db, sealer, web, intake, store, live, signals, publicUrl, drainTimeoutMs, times, ...options }: WebChatOptions) =>
  async (app: App) => {
    const typing = createTypingFeed({ db, live, log: app.log })
    const queue = createQueueFeed({ db, live, log: app.log, times: times.queue })
    const replyTimeOf = createTtlCache(options.readReplyTime, hintTtlMs)
    const hoursOf = createTtlCache(async (key) => {
      const [workspaceId = '', siteId = ''] = key.split(' ')
      return { schedule: await readSiteHours(db, workspaceId, siteId) }
    }, hintTtlMs)
    const streams = createStreamRegistry(app, { drainTimeoutMs })
    const lists = createOpenLimits(maxLists, 'lists of messages')
    const ownOrigin = new URL(publicUrl).origin
    const readConnection = createConnectionReader(db, sealer)

    app.addHook('onRequest', async (request, reply) => {
      const site = await readConnection(siteIdOf(request))
      const widget = readWidget(site?.widget ?? {})
      const isPreflight = request.method === 'OPTIONS'
      // A browser omits the header only for a GET request of a page on our own origin.
      const origin = request.headers.origin ?? (/^(GET|HEAD)$/.test(request.method) ? ownOrigin : undefined)
      const isAllowed = widget.allowed_origins.length === 0 || widget.allowed_origins.some((each) => each === origin)
      const cors = corsOf(widget, isAllowed ? origin : undefined)
      reply.headers(cors)
      if (!isAllowed) throw forbidden('origin: this site is not in the list of allowed sites')
      if (site?.channel === 'web') request.visit = { site, widget, cors }
      else if (!isPreflight) throw notFound('site')
    })
    app.options('/web-chat/:site_id/*', async (_request, reply) => reply.code(204).send())

    const getVisitor = (site: CallbackConnection, token: unknown): Visitor | undefined =>
      typeof token === 'string' ? openVisitor(sealer, site, token) : undefined
    /** The visitor of a token. It is in a header, or in the query where a browser cannot set headers. */
    const requireVisitor = ({ site }: FastifyRequest['visit'], token: unknown): Visitor => {
      const visitor = getVisitor(site, token)
      if (!visitor) throw new ApiError('unauthorized', 'a valid visitor token is required')
      return visitor
    }
    const requireCaller = ({ visit, headers }: FastifyRequest) => requireVisitor(visit, headers['x-visitor-token'])

    /** Stores the visitor's page and browser, once the visitor has written. Returns false if it is too soon, or not necessary. */
    const notePage = async (
      { visit, headers }: FastifyRequest,
      visitorId: string,
      page: { url: string; title?: string | undefined },
    ): Promise<boolean> => {
      const userAgent = headers['user-agent'] ?? null
      const { workspace_id: workspaceId } = visit.site
      const contactId = await recordVisit(db, workspaceId, visitorId, { ...page, userAgent }, times)
      if (contactId) signals.visited(workspaceId, contactId)
      return contactId !== undefined
    }

    /** The button or row that the visitor tapped, in a message that was sent to them. */
    const requireTap = async (site: Connection, visitorId: string, tap: { message_id: string; id: string }) => {
      const conversationId = await findConversation(db, site, visitorId)
      const where = { conversationId: conversationId ?? '', id: tap.message_id, channel: 'web', visitorId } as const
      const message = conversationId ? await getMessage(db, site.workspace_id, where, publicUrl) : undefined
      const choice = message?.direction === 'outbound' ? findChoice(message.content, tap.id) : undefined
      if (!choice) throw badRequest('tap: no such button or row in the conversation')
      return { ...choice, message_id: tap.message_id }
    }

    const requireVisitorId = (request: FastifyRequest) => requireCaller(request).id
    await app.register(visitorFileRoutes({ db, store, requireVisitor: requireVisitorId }))
    await app.register(visitorRoutes({ db, sealer, signals, requireVisitor: requireVisitorId }))

    app.get(
      '/web-chat/:site_id/settings',
      { schema: { params: Site, querystring: SettingsQuery, response: { 200: DataOf(WidgetSettings) } } },
      async ({ visit: { site, widget }, query, headers }) => {
        const [usual, { schedule }] = await Promise.all([
          widget.show_reply_time ? replyTimeOf(site.workspace_id) : null,
          hoursOf(`${site.workspace_id} ${site.id}`),
        ])
        const { language = 'en', time_zone: timeZone } = query
        const hint = hintOf(schedule, usual, nowMs(), {
          language,
          timeZone,
          acceptLanguage: headers['accept-language'],
        })
        return { data: { ...widget, reply_time: isOpen(schedule, nowMs()) ? usual : null, hint } }
      },
    )

    app.post(
      '/web-chat/:site_id/messages',
      { schema: { params: Site, body: NewVisitorMessage, response: { 201: DataOf(VisitorMessage) } } },
      async (request, reply) => {
        const { file, client_id } = request.body
        const isTap = request.body.tap !== undefined
        if (request.body.text === undefined && file === undefined && !isTap) throw badRequest('text: required')
        if (isTap && file !== undefined) throw badRequest('tap: not together with file')
        const written = request.body.text ?? ''
        if (!isTap && (written !== '' || file === undefined)) requireText(written)
        const { site } = request.visit
        const { id: visitorId, identity } = requireCaller(request)
        // What the site signed replaces what the page says.
        const details = identity ?? request.body
        const name = details.name?.trim() || null
        const email = details.email?.trim() || null
        await countMessage(db, site.id, visitorId, request.clientAddress)
        const tap = request.body.tap && (await requireTap(site, visitorId, request.body.tap))
        const text = tap?.title ?? written
        const message_id = client_id ? toVisitMessageId(visitorId, client_id) : newId()
        const repeated = () => getMessageNamed(db, site.workspace_id, { name: message_id, channel: 'web' }, publicUrl)
        const earlier = file === undefined || !client_id ? undefined : await repeated()
        if (earlier) {
          reply.code(201)
          return { data: toVisible(earlier) }
        }
        const { type, path } =
          file === undefined
            ? { type: undefined, path: undefined }
            : await markVisitorFileUsed(db, site.workspace_id, { visitorId, token: file })
        const body = { visitor_id: visitorId, message_id, text, name, at: nowIso(), type, tap }
        const [report] = web.parse(site, body)
        if (report?.kind !== 'message') throw badRequest('text: cannot be stored')
        const inbound = toInbound(site, report, { email })
        const stored = await intake.receive({ ...inbound, media_url: path })
        if (stored) live.announce(visitorTopic(visitorId))
        if (identity) await recordCustomer(db, site.workspace_id, visitorId, identity.customer_id)
        if (request.body.page) await notePage(request, visitorId, request.body.page)
        const message = stored
          ? await getMessage(
              db,
              site.workspace_id,
              { conversationId: stored.conversation_id, id: stored.id, channel: 'web' },
              publicUrl,
            )
          : await repeated()
        if (!message) throw new Error('a message that was just stored does not exist')
        reply.code(201)
        return { data: toVisible(message) }
      },
    )

    app.get(
      '/web-chat/:site_id/messages',
      { schema: { params: Site, querystring: ListQuery({}), response: { 200: ListOf(VisitorMessage) } } },
      async (request, reply) => {
        const { site, widget } = request.visit
        const { id: visitorId } = requireCaller(request)
        lists.enter(reply, [{ key: networkOf(request.clientAddress), most: listsPerNetwork }])
        const conversationId = await findConversation(db, site, visitorId)
        if (!conversationId) return { data: [], meta: { next_cursor: null } }
        const position = readPosition(request.query)
        const whole = await listMessages(db, site.workspace_id, conversationId, publicUrl, position, visitorId)
        const page = cutPage(whole, ({ content_text }) => content_text?.length ?? 0, maxPageChars)
        const timer = setTimeout(() => reply.raw.destroy(), drainTimeoutMs)
        reply.raw.once('close', () => clearTimeout(timer))
        const [names, readUpTo] = await Promise.all([
          listSenderNames(db, site.workspace_id, widget.member_names, page.data),
          getReadUpTo(db, site.workspace_id, conversationId),
        ])
        return { ...page, data: page.data.map((message) => toVisible(message, { names, readUpTo })) }
      },
    )

    app.get(
      '/web-chat/:site_id/stream',
      { schema: { params: Site, querystring: StreamQuery } },
      async (request, reply) => {
        const { site, widget, cors } = request.visit
        const { id: visitorId, identity } = requireVisitor(request.visit, request.query.token)
        streams.enter(reply, [
          { key: visitorId, most: streamsPerVisitor },
          { key: networkOf(request.clientAddress), most: streamsPerNetwork },
        ])
        await countStream(db, visitorId)
        const { page_url: url, page_title: title, language } = request.query
        const isNoted = !url || (await notePage(request, visitorId, { url, title }))
        let { member_names: memberNames } = widget
        const context = {
          ...{ db, live, log: app.log, publicUrl, site, visitorId, typing, queue, language },
          memberNames: () => memberNames,
        }
        const start = await findStart(context, request.headers['last-event-id'])
        const stream = streams.open(reply, { headers: cors, heartbeatMs, retryMs })
        streamMessages(context, stream, start)
        /** Ends the stream if its visitor is no longer valid: the identity secret was replaced. Follows the setting of names. */
        const followSite = createCoalescedRunner({
          run: async () => {
            const current = await readConnection(site.id)
            if (!current || !getVisitor(current, request.query.token)) return stream.end(retryMs)
            memberNames = readWidget(current.widget).member_names
          },
          isOpen: stream.isOpen,
          onError: (error) => {
            app.log.warn({ err: error }, 'a visitor stream could not read the settings of its site')
            // The page connects again, and the service then checks the identity.
            if (identity) stream.end(retryMs)
          },
        })
        stream.onClose(live.listen(siteTopic(site.workspace_id), () => void followSite()))
        if (identity) {
          endAt(stream, identity.expires_at_ms)
          // The secret may have changed since the request was checked.
          void followSite()
        }
        if (!url || isNoted) return
        // A page that follows soon after another one is stored later, if the visitor stays on it.
        const noteLater = () =>
          notePage(request, visitorId, { url, title }).catch((error: unknown) =>
            app.log.warn({ err: error }, 'the page of a visitor could not be stored'),
          )
        const timer = setTimeout(noteLater, times.pageMs)
        stream.onClose(() => clearTimeout(timer))
      },
    )
  }

/** Ends the stream of an identity that expires. The page then needs a new identity token. */
function endAt(stream: EventStream, atMs: number): void {
  const timer = setTimeout(() => stream.end(retryMs), atMs - nowMs())
  stream.onClose(() => clearTimeout(timer))
}

const siteIdOf = ({ params }: FastifyRequest): string => (params as { site_id: string }).site_id

/** The CORS headers: any site may read the responses, or only an allowed site. */
function corsOf({ allowed_origins }: Widget, origin: string | undefined): Record<string, string> {
  const isOpen = allowed_origins.length === 0
  return {
    ...(isOpen ? { 'access-control-allow-origin': '*' } : { vary: 'origin' }),
    ...(!isOpen && origin ? { 'access-control-allow-origin': origin } : {}),
    'access-control-allow-methods': 'GET, POST, OPTIONS',
    'access-control-allow-headers': 'content-type, x-visitor-token, last-event-id',
    'access-control-expose-headers': 'x-request-id, retry-after',
    'access-control-max-age': '86400',
  }
}
