/**
 * The HTTP application: every route plugin on one screen.
 */
import type { FastifyBaseLogger, RouteOptions } from 'fastify'
import { authenticateKeys } from './accounts/auth.ts'
import { accountDashboard } from './accounts/dashboard.ts'
import { keepAnswers } from './accounts/idempotency.ts'
import { memberDashboard } from './accounts/member-dashboard.ts'
import { watchPlans } from './accounts/plans.ts'
import { accountRoutes } from './accounts/routes.ts'
import { sessionDashboard } from './accounts/session-dashboard.ts'
import { authenticateMembers } from './accounts/sessions.ts'
import type { Setup } from './accounts/setup.ts'
import { announceChanges, streamRoutes, workspaceTopic } from './accounts/stream.ts'
import { recipientsFollow } from './broadcasts/counts.ts'
import { broadcastDashboard } from './broadcasts/dashboard.ts'
import { createLiveSends } from './broadcasts/pace.ts'
import { broadcastRoutes } from './broadcasts/routes.ts'
import { broadcastsTopic } from './broadcasts/run.ts'
import type { Channel } from './channels/channel.ts'
import { channelDashboard } from './channels/dashboard.ts'
import { createMsgapp } from './channels/msgapp/msgapp.ts'
import { createSocial } from './channels/social/social.ts'
import { createWeb } from './channels/web/web.ts'
import { widgetDashboard } from './channels/widget-dashboard.ts'
import type { ChannelName } from './contacts/contacts.ts'
import { contactDashboard } from './contacts/dashboard.ts'
import { contactRoutes } from './contacts/routes.ts'
import { conversationDashboard } from './conversations/dashboard.ts'
import { filterFields } from './conversations/filter-fields.ts'
import { conversationRoutes } from './conversations/routes.ts'
import { createEraser } from './erase.ts'
import { noteEventHeard } from './insights/checklist.ts'
import { checklistDashboard } from './insights/checklist-dashboard.ts'
import { overviewDashboard } from './insights/dashboard.ts'
import type { Sealer } from './lib/crypto.ts'
import type { Db } from './lib/db.ts'
import type { Health } from './lib/health.ts'
import type { Http } from './lib/http.ts'
import type { Live } from './lib/live.ts'
import type { Metrics } from './lib/metrics.ts'
import { describeApi } from './lib/openapi.ts'
import { type App, createServer, defaultLimits, refuseUnknownPaths, type Serving } from './lib/server.ts'
import type { Store } from './lib/store.ts'
import { uploadDashboard } from './media/dashboard.ts'
import { dropMedia, watchMedia } from './media/media.ts'
import { mediaRoutes } from './media/routes.ts'
import { callbackRoutes } from './messages/callbacks.ts'
import { messageDashboard } from './messages/dashboard.ts'
import { EventSchema, eventWebhooks } from './messages/event-schemas.ts'
import { type Announce, createIntake } from './messages/intake.ts'
import { lastMessagesOf } from './messages/messages.ts'
import { messageRoutes } from './messages/routes.ts'
import { createSender } from './messages/send.ts'
import { segmentDashboard } from './segments/dashboard.ts'
import { segmentRoutes } from './segments/routes.ts'
import { followTag, requireMembership } from './segments/segments.ts'
import { type Mounting, simulatorMount } from './simulator-host/mount.ts'
import { pageRoutes, readPages, sendPage } from './web/pages.ts'
import { systemRoutes } from './web/system.ts'
import { type DemoSite, widgetRoutes } from './web/widget.ts'
import { webChatRoutes } from './webchat/routes.ts'
import { conversationTopic } from './webchat/stream.ts'
import { webhookDashboard } from './webhooks/dashboard.ts'
import type { Guard } from './webhooks/guard.ts'
import { deliveriesTopic } from './webhooks/queue.ts'
import { webhookRoutes } from './webhooks/routes.ts'
import { eventStreamRoutes } from './webhooks/stream.ts'

export type Application = {
  db: Db
  /** A small pool of its own for hot statements, so that no slow one is ahead of them. */
  hotDb: Db
  /** And one for what is sent and received. */
  messageDb: Db
  /** And one whose last commits a power cut may take back, for what would be settled again. */
  settleDb: Db
  log: FastifyBaseLogger
  metrics: Metrics
  health: Health
  sealer: Sealer
  channels: Record<ChannelName, Channel>
  live: Live
  store: Store
  /** There is media to fetch: whoever fetches it need not wait for the next look. */
  onMedia?: () => void
  /** Deliveries were queued, likewise. */
  onQueued?: () => void
  /** A broadcast was accepted, likewise. */
  onBroadcast?: () => void
  /** Where webhooks may go. */
  guard: Guard
  /** The provider of the demo workspace, and whether more than this machine reaches it. */
  simulator?: Pick<Mounting, 'simulator' | 'isExposed'> | undefined
  /** For the first run. */
  setup: Setup
  publicUrl: string
  /** Without it only the paths an operator needs are served. */
  api: boolean
  /** With the dashboard's pages and the widget, which must have been built. */
  pages?: boolean
  /** The site of the demo workspace, for the page that shows the widget. */
  demoSite?: DemoSite | undefined
  /** Told of every call of the dashboard. */
  onMemberRoute?: (route: RouteOptions) => void
  tls?: Serving['tls']
  trustedProxies?: Serving['trustedProxies']
  limits?: Serving['limits']
}

export const createChannels = (http: Http): Record<ChannelName, Channel> => ({
  msgapp: createMsgapp(http),
  social: createSocial(http),
  web: createWeb(),
})

export async function createApp(application: Application): Promise<App> {
  const {
    db,
    hotDb,
    messageDb,
    settleDb,
    log,
    metrics,
    health,
    sealer,
    channels,
    live,
    store,
    guard,
    publicUrl,
    api,
    tls,
    trustedProxies,
    limits = {},
  } = application
  const pages = api && application.pages ? await readPages() : undefined
  const app = createServer({
    log,
    metrics,
    tls,
    trustedProxies,
    limits,
    sendMissingPage: pages && ((request, reply) => sendPage(request, reply, pages)),
  })
  const routes: RouteOptions[] = []

  if (api) {
    const onQueued = () => {
      application.onQueued?.()
      live.announce(deliveriesTopic)
    }
    const announce: Announce = (workspaceId, channel, conversationId) => {
      onQueued()
      live.announce(workspaceTopic(workspaceId))
      // Only visitors of a site watch a single conversation.
      if (channel === 'web' && conversationId) live.announce(conversationTopic(conversationId))
    }
    const { heartbeatMs, drainTimeoutMs } = { ...defaultLimits, ...limits }
    watchPlans(db, metrics)
    const onBroadcast = () => {
      application.onBroadcast?.()
      live.announce(broadcastsTopic)
    }
    watchMedia(db, metrics)
    const follower = recipientsFollow
    const liveSends = createLiveSends(db, log)
    app.addHook('onClose', liveSends.stop)
    const sending = { sql: messageDb, settleSql: settleDb, sealer, channels, announce, publicUrl, follower }
    const sender = createSender({ ...sending, onSend: liveSends.count })
    const intake = createIntake({
      db: messageDb,
      channels,
      log,
      announce,
      onMedia: application.onMedia ?? (() => {}),
      onMediaGone: (ids) => void dropMedia(store, ids, log),
      publicUrl,
      follower,
    })
    const onHeard = async (workspaceId: string) => {
      if (await noteEventHeard(db, workspaceId)) live.announce(workspaceTopic(workspaceId))
    }
    const accepting = { db, sealer, channel: channels.msgapp, fields: filterFields, publicUrl }
    const count = metrics.counter(
      'parley_channel_callbacks_total',
      'Channel callbacks by outcome; one with different outcomes counts for each.',
      'outcome',
    )

    await app.register(
      async (v1: App) => {
        v1.addHook('onRoute', (route) => void routes.push(route))
        authenticateKeys(v1, hotDb)
        refuseUnknownPaths(v1)
        keepAnswers(v1, { sql: db, sealer, workspaceOf: ({ caller }) => caller?.workspaceId })
        announceChanges(v1, live, ({ caller }) => caller?.workspaceId)
        v1.register(accountRoutes())
        v1.register(contactRoutes(db, onQueued))
        v1.register(segmentRoutes(db, filterFields))
        v1.register(conversationRoutes(db))
        v1.register(messageRoutes({ db, sender, publicUrl }))
        v1.register(broadcastRoutes({ ...accepting, onBroadcast }))
        v1.register(webhookRoutes({ db, sealer, guard, onQueued }))
        v1.register(eventStreamRoutes({ db, live, heartbeatMs, drainTimeoutMs, schema: EventSchema, onHeard }))
      },
      { prefix: '/v1' },
    )
    await app.register(
      async (members: App) => {
        members.addHook('onRoute', (route) => application.onMemberRoute?.(route))
        authenticateMembers(members, db, publicUrl)
        refuseUnknownPaths(members)
        keepAnswers(members, { sql: db, sealer, workspaceOf: ({ session }) => session?.workspaceId })
        announceChanges(members, live, ({ session }) => session?.workspaceId)
        members.register(sessionDashboard({ db, sealer, publicUrl, setup: application.setup }))
        members.register(accountDashboard(db))
        members.register(memberDashboard(db, publicUrl))
        members.register(channelDashboard({ db, sealer, channels, publicUrl }))
        members.register(widgetDashboard(db))
        members.register(
          contactDashboard({
            db,
            onQueued,
            announce: (workspaceId) => live.announce(workspaceTopic(workspaceId)),
            eraseContact: createEraser({ db, store, log }),
            inSegment: (sql, workspaceId, id) => requireMembership(sql, workspaceId, filterFields, id),
            onTagRenamed: followTag,
          }),
        )
        members.register(segmentDashboard(db, filterFields))
        members.register(streamRoutes({ db, live, heartbeatMs, drainTimeoutMs }))
        members.register(conversationDashboard(db, { lastMessagesOf, channels }))
        members.register(messageDashboard({ db, sender, templates: channels.msgapp, channels, publicUrl }))
        members.register(uploadDashboard({ db, store, publicUrl }))
        members.register(overviewDashboard(db))
        members.register(checklistDashboard(db))
        members.register(
          broadcastDashboard({
            accepting,
            sender,
            reading: { channels, publicUrl },
            onBroadcast,
          }),
        )
        members.register(webhookDashboard({ db, sealer, guard, onQueued }))
      },
      { prefix: '/app/api' },
    )
    await app.register(callbackRoutes({ db, sealer, channels, intake, count }))
    await app.register(webChatRoutes({ db, sealer, web: channels.web, intake, live, publicUrl, drainTimeoutMs }))
    await app.register(mediaRoutes({ db, store }))
    if (pages) {
      await app.register(pageRoutes(pages))
      await app.register(widgetRoutes(application.demoSite))
    }
    if (application.simulator) await app.register(simulatorMount({ db, publicUrl, ...application.simulator }))
  }

  const document = describeApi(routes, {
    title: 'Parley API',
    description: apiDescription,
    url: `${publicUrl}/v1`,
    webhooks: eventWebhooks,
    tags: [
      { name: 'Account', description: 'The workspace and the key a request acts with.' },
      { name: 'Contacts', description: 'The people you talk to, found by phone number or by their channel identity.' },
      { name: 'Segments', description: 'Named audiences: a list you keep, or a filter computed on every read.' },
      {
        name: 'Conversations',
        description: 'One a contact and channel: who writes, what is unread, who looks after it.',
      },
      { name: 'Webhooks', description: 'Endpoints of yours that are told, signed, what happened.' },
      { name: 'Messages', description: 'What was said, and what became of what you sent.' },
      { name: 'Broadcasts', description: 'One template to many, at the pace of your number, and how far it has got.' },
    ],
  })
  await app.register(systemRoutes({ db, metrics, health, document: api ? document : undefined }))
  return app
}

const apiDescription = `Customer messaging you host yourself.

Every request carries \`Authorization: Bearer <API key>\`. Success is \`{ data }\`, a list is \`{ data, meta: { next_cursor } }\`,
a failure is \`{ error: { code, message } }\`: branch on \`code\`. Each key may make 120 requests a minute; every answer says how
many are left. A POST with an \`Idempotency-Key\` header can be repeated safely. In a request, null for an optional field means that the field is
absent, unless the field may be null. Quote the \`X-Request-Id\` of an answer when you ask for help.`
