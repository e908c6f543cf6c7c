/**
 * The HTTP application: its parts, and the plugins that register the routes of each module.
 *
 * `server/ROUTES.md` lists every route with its handler and who may call it. Over 400 lines because it names the parts of all modules.
 */
import type { FastifyBaseLogger, RouteOptions } from 'fastify'
import type { Times } from '../common/times.ts'
import { auditTable } from './accounts/audit-routes.ts'
import { requestsPerMinute } from './accounts/auth.ts'
import { memberTable } from './accounts/member-routes.ts'
import type { OperatorWorkspace } from './accounts/operator.ts'
import { preferenceTable } from './accounts/preference-routes.ts'
import { watchPlans } from './accounts/quota.ts'
import { createRequestLog, type RequestLog } from './accounts/request-log.ts'
import { requestTable } from './accounts/request-routes.ts'
import { accountTable } from './accounts/routes.ts'
import type { Oidc } from './accounts/sign-in/oidc.ts'
import { oidcTable } from './accounts/sign-in/oidc-routes.ts'
import { secondFactorTable } from './accounts/sign-in/second-factor-routes.ts'
import { sessionTable } from './accounts/sign-in/session-routes.ts'
import type { Setup } from './accounts/sign-in/setup.ts'
import { streamTable } from './accounts/stream.ts'
import { mountForKeys, mountForMembers, type Row } from './accounts/table.ts'
import { automationTable } from './automation/routes.ts'
import { runStopper } from './automation/runs.ts'
import { scheduledTable } from './automation/scheduled-routes.ts'
import { findStarts } from './automation/starts.ts'
import { listBroadcastNames } from './broadcasts/broadcasts.ts'
import { composeTable } from './broadcasts/compose-routes.ts'
import { recipientFollower } from './broadcasts/counts.ts'
import { createLiveSendCounter } from './broadcasts/pace.ts'
import { broadcastTable } from './broadcasts/routes.ts'
import { callbackOutcomes, callbackRoutes } from './channels/callbacks.ts'
import type { Channel } from './channels/channel.ts'
import { channelTable } from './channels/routes.ts'
import { templateTable } from './channels/template-routes.ts'
import { widgetTable } from './channels/widget-routes.ts'
import type { ApiPools } from './config/pools.ts'
import { contactPanelTable } from './contacts/panel-routes.ts'
import type { ChannelName } from './contacts/resource.ts'
import { contactTable } from './contacts/routes.ts'
import { visitFeed } from './contacts/visits.ts'
import { releaseConversations, unassignMember } from './conversations/assignees.ts'
import { assignmentTable } from './conversations/assignment/routes.ts'
import { deletePersonalReplies } from './conversations/canned-replies.ts'
import { cannedReplyTable } from './conversations/canned-reply-routes.ts'
import { draftTable } from './conversations/draft-routes.ts'
import { episodeTable } from './conversations/episodes/routes.ts'
import { filterFields } from './conversations/filter-fields.ts'
import { identityList } from './conversations/identities.ts'
import { inboxFeed } from './conversations/inbox-feed.ts'
import { noteTable } from './conversations/note-routes.ts'
import { presenceFeed, presenceTable } from './conversations/presence-routes.ts'
import { conversationTable } from './conversations/routes.ts'
import { timelineTable } from './conversations/timeline-routes.ts'
import { labelTable, viewTable } from './conversations/view-routes.ts'
import { requireMergeable, seesContact } from './conversations/visible-step.ts'
import { scheduleTable } from './hours/routes.ts'
import { importTable } from './imports/routes.ts'
import { nameSubjects } from './insights/audit-subjects.ts'
import { noteEventHeard } from './insights/checklist.ts'
import { readReplyTime } from './insights/reply-time.ts'
import { reportTable } from './insights/reports/routes.ts'
import { insightsTable } from './insights/routes.ts'
import type { Sealer } from './lib/crypto.ts'
import { createFairQueue } from './lib/fair-queue.ts'
import { applySteps } from './lib/http/apply-steps.ts'
import { createHttp } from './lib/http/client.ts'
import { type App, createServer, defaultLimits, type ServerOptions } from './lib/http/server.ts'
import type { Mailer } from './lib/mail.ts'
import type { Sql } from './lib/postgres/db.ts'
import { createSlowReads } from './lib/postgres/slow-reads.ts'
import type { Disk } from './lib/process/disk.ts'
import type { Health } from './lib/process/health.ts'
import type { Metrics } from './lib/process/metrics.ts'
import type { Peers } from './lib/process/peers.ts'
import type { Store } from './lib/store.ts'
import { deleteFiles, watchMedia } from './media/media.ts'
import { mediaRoutes } from './media/routes.ts'
import { uploadTable } from './media/upload-routes.ts'
import { createEraser } from './merge-erase/erase-contact.ts'
import { completeMergesOf, createMerger } from './merge-erase/merge-contacts.ts'
import { EventSchema, eventSamples, eventWebhooks } from './messages/event-schemas.ts'
import { lastMessagesOf } from './messages/messages.ts'
import { notificationTable } from './messages/notification-routes.ts'
import { createIntake } from './messages/receiving/intake.ts'
import { messageTable } from './messages/routes.ts'
import { createSender } from './messages/sending/send.ts'
import { threadTable } from './messages/thread-routes.ts'
import { previewTable } from './previews/routes.ts'
import { ratingAnswers } from './satisfaction/answers.ts'
import { satisfactionTable } from './satisfaction/routes.ts'
import { segmentTable } from './segments/routes.ts'
import { replaceRenamedTag, requireMembership } from './segments/segments.ts'
import type { Live } from './signals/live.ts'
import type { Signals } from './signals/signals.ts'
import { type SimulatorMountOptions, simulatorMount } from './simulator-host/mount.ts'
import { keySteps, memberSteps } from './steps.ts'
import { targetTable } from './targets/routes.ts'
import { availabilityTable } from './teams/availability-routes.ts'
import { startMemberStreams } from './teams/member-streams.ts'
import { teamTable } from './teams/routes.ts'
import { describeApi } from './web/openapi.ts'
import { type Pages, pageRoutes, readPages, sendPage } from './web/pages.ts'
import { referenceRoutes } from './web/reference.ts'
import type { Backups } from './web/status.ts'
import { statusTable } from './web/status-routes.ts'
import { systemRoutes } from './web/system.ts'
import { type DemoSite, widgetRoutes } from './web/widget.ts'
import { webChatRoutes } from './webchat/routes.ts'
import { eventTable } from './webhooks/event-routes.ts'
import type { Guard } from './webhooks/guard.ts'
import { webhookTable } from './webhooks/routes.ts'
import { eventStreamTable } from './webhooks/stream.ts'

export type Application = {
  pools: ApiPools
  log: FastifyBaseLogger
  metrics: Metrics
  health: Health
  sealer: Sealer
  channels: Record<ChannelName, Channel>
  live: Live
  signals: Signals
  store: Store
  /** Decides to which addresses webhooks may be posted. */
  guard: Guard
  /** The built-in simulator, and whether other machines can reach it. */
  simulator?: Pick<SimulatorMountOptions, 'handle' | 'isExposed'> | undefined
  /** For the page that creates the first workspace. */
  setup: Setup
  publicUrl: string
  times: Times
  /** Undefined: the service sends no e-mail. */
  mailer?: Mailer | undefined
  /** Undefined: members sign in with passwords only. */
  oidc?: Oidc | undefined
  /** Of the data folders, for health and metrics. */
  disk?: Disk | undefined
  /** The workspace whose owners see the status of the installation. Undefined: the first one. */
  operatorWorkspace?: OperatorWorkspace
  /** For the status of the installation. Undefined: the database is not embedded. */
  backups?: Backups | undefined
  /** The other processes of the service, for health and metrics. */
  peers?: Peers | undefined
  /** Serves the dashboard, the widget and the API reference, which must have been built. */
  pages?: boolean
  /** The site of the demo workspace, for the page that shows the widget. */
  demoSite?: DemoSite | undefined
  /** Called for every route that is registered. */
  onRoute?: (route: RouteOptions) => void
  tls?: ServerOptions['tls']
  trustedProxies?: ServerOptions['trustedProxies']
  limits?: ServerOptions['limits']
}

export async function createApp(application: Application): Promise<App> {
  const { pools, log, metrics, health, disk, peers, publicUrl, tls, trustedProxies, limits = {} } = application
  const pages = application.pages ? readPages() : undefined
  const requestLog = createRequestLog(pools.general, log, metrics)
  const app = createServer({
    log,
    metrics,
    tls,
    isHttps: tls !== undefined || publicUrl.startsWith('https:'),
    trustedProxies,
    limits,
    onClosed: requestLog.recordClosed,
    onFailure: health.note,
    sendMissingPage: pages && ((request, reply) => sendPage(request, reply, pages)),
  })
  const routes: RouteOptions[] = []
  app.addHook('onRoute', (route) => {
    routes.push(route)
    application.onRoute?.(route)
  })
  app.addHook('onClose', requestLog.stop)
  await registerApi(app, application, pages, requestLog)
  const document = describePublicApi(routes, publicUrl)
  await app.register(systemRoutes({ db: pools.admission, metrics, health, disk, peers, document }))
  return app
}

/** The public API, the dashboard's calls, the callbacks of channels, the web chat, media and pages. */
async function registerApi(
  app: App,
  application: Application,
  pages: Pages | undefined,
  requestLog: RequestLog,
): Promise<void> {
  const {
    pools,
    log,
    metrics,
    health,
    sealer,
    channels,
    live,
    signals,
    store,
    guard,
    publicUrl,
    setup,
    mailer,
    times,
  } = application
  const { simulator, demoSite, oidc, operatorWorkspace, backups } = application
  const { general: db, reads, admission } = pools
  const slow = createSlowReads(pools.slow)
  /** Writes of many rows, such as a batch of contacts or the copy of a broadcast: two at a time, so that they never have all connections. */
  const bulk = createFairQueue(2)
  const { heartbeatMs, drainTimeoutMs } = { ...defaultLimits, ...application.limits }
  const streaming = { db, live, heartbeatMs, drainTimeoutMs }
  const liveSends = createLiveSendCounter(db, log)
  app.addHook('onClose', liveSends.stop)
  const memberStreams = startMemberStreams({ db, log, health, signals, times: times.availability })
  app.addHook('onClose', memberStreams.stop)
  /** To the simulator, for previews of automations. */
  const http = createHttp({ connections: 8 })
  app.addHook('onClose', http.stop)
  const sender = createSender({
    pools,
    sealer,
    channels,
    signals,
    publicUrl,
    onSend: liveSends.count,
    times: times.messages,
    runs: runStopper,
  })
  const intake = createIntake({
    db: pools.messages,
    channels,
    log,
    signals,
    onMediaGone: (ids) => void deleteFiles(store, ids, log),
    publicUrl,
    follower: recipientFollower,
    runs: runStopper,
    findStarts,
    ratings: ratingAnswers,
    times: times.messages,
  })
  const acceptContext = { db, slow, bulk, sealer, channel: channels.msgapp, fields: filterFields, publicUrl }
  const merging = { db, live, signals }
  const contactOptions = {
    ...{ db, reads, slow, bulk, signals },
    inSegment: (sql: Sql, workspaceId: string, id: string) => requireMembership(sql, workspaceId, filterFields, id),
    identityList,
    onTagRenamed: replaceRenamedTag,
    eraseContact: createEraser({
      ...{ db, store, log },
      completeMerges: (workspaceId: string, ids: readonly string[]) => completeMergesOf(merging, workspaceId, ids),
    }),
    mergeContacts: createMerger(merging),
    requireMergeable,
  }
  const onEventSent = async (workspaceId: string) => {
    if (await noteEventHeard(db, workspaceId)) signals.changed(workspaceId)
  }
  const countCallback = metrics.counter(
    'parley_channel_callbacks_total',
    'Channel callbacks by outcome; one with different outcomes counts for each.',
    'outcome',
    callbackOutcomes,
  )
  watchPlans(db, metrics)
  watchMedia(db, metrics)

  const answering = { sql: db, sealer, times: times.idempotency }
  const inboxContext = { lastMessagesOf, channels }
  const threadContext = { channels, publicUrl }
  const broadcasting = { context: acceptContext, signals }
  const stepOptions = { pools, answering, signals }
  /** The tables of all modules, by their part of the API document. */
  const tables: [tag: string, rows: readonly Row[]][] = [
    ['Account', accountTable(db, signals)],
    ['', auditTable(db, nameSubjects)],
    [
      '',
      sessionTable({
        ...{ db: admission, sealer, publicUrl, setup, mailer, oidcName: oidc?.name, operatorWorkspace },
        onSignedOut: memberStreams.signedOut,
      }),
    ],
    ['', oidcTable({ db: admission, sealer, publicUrl, signals, unassign: unassignMember, oidc })],
    ['', secondFactorTable(db, sealer, publicUrl)],
    ['', requestTable(db, slow)],
    [
      '',
      memberTable({ db, publicUrl, mailer, unassign: unassignMember, deleteReplies: deletePersonalReplies, signals }),
    ],
    ['', preferenceTable(db, signals)],
    [
      '',
      streamTable(
        {
          ...{ ...streaming, onOpened: memberStreams.opened },
          feeds: [presenceFeed(db), inboxFeed(db, inboxContext), visitFeed],
        },
        app,
      ),
    ],
    ['', availabilityTable({ db, signals, times: times.availability })],
    ['', assignmentTable({ db, signals })],
    ['Connections', channelTable({ db, sealer, channels, publicUrl })],
    ['', widgetTable({ db, sealer, signals })],
    ['', scheduleTable(db)],
    ['Contacts', contactTable(contactOptions)],
    ['', contactPanelTable({ db, slow, seesContact })],
    ['', importTable({ db, store, signals })],
    ['Segments', segmentTable({ db, reads, slow, fields: filterFields })],
    ['Conversations', teamTable({ db, signals, release: releaseConversations })],
    ['Conversations', conversationTable({ db, reads, slow, context: inboxContext, signals })],
    ['Conversations', episodeTable(db)],
    ['Conversations', noteTable(db, signals)],
    ['', timelineTable(db, signals)],
    ['', presenceTable(db, signals)],
    ['', draftTable(db, signals)],
    ['', cannedReplyTable(db, publicUrl)],
    ['', labelTable(db)],
    ['', viewTable(db, slow)],
    ['Messages', messageTable({ reads, sender, publicUrl })],
    ['Messages', scheduledTable({ db, sender, signals, publicUrl })],
    [
      '',
      threadTable({ db, sealer, sender, signals, templates: channels.msgapp, inbox: inboxContext, ...threadContext }),
    ],
    ['Templates', templateTable({ db, sealer, channel: channels.msgapp })],
    ['', notificationTable(db)],
    ['', uploadTable({ db, store, publicUrl })],
    ['Automations', automationTable({ db, slow, sealer, signals, channels, guard, times: times.automation })],
    ['', targetTable(db, slow)],
    ['', satisfactionTable(db)],
    ['', previewTable({ db, sealer, store, http, channels, publicUrl, signals })],
    ['', insightsTable({ db, slow, broadcastNames: listBroadcastNames })],
    ['Reports', reportTable(db, slow)],
    ['Broadcasts', broadcastTable(broadcasting)],
    ['', composeTable({ ...broadcasting, sender, threadContext })],
    ['Webhooks', webhookTable({ db, bulk, sealer, guard, signals, samples: eventSamples })],
    ['Webhooks', eventStreamTable({ ...streaming, schema: EventSchema, onHeard: onEventSent }, app)],
    ['', eventTable(db, slow)],
    ['', statusTable({ db, backups, operatorWorkspace })],
  ]
  await app.register(
    async (v1: App) => {
      applySteps(v1, keySteps({ ...stepOptions, requestLog }))
      for (const [tag, rows] of tables) mountForKeys(v1, tag, rows)
    },
    { prefix: '/v1' },
  )
  await app.register(
    async (members: App) => {
      applySteps(members, memberSteps({ ...stepOptions, publicUrl }))
      for (const [, rows] of tables) mountForMembers(members, rows)
    },
    { prefix: '/app/api' },
  )
  await app.register(callbackRoutes({ db: pools.messages, sealer, channels, intake, count: countCallback }))
  await app.register(
    webChatRoutes({
      ...{ db: pools.messages, sealer, web: channels.web, intake, store, live, signals, publicUrl, drainTimeoutMs },
      readReplyTime: (workspaceId) => readReplyTime(db, workspaceId),
      times: times.webChat,
    }),
  )
  await app.register(mediaRoutes({ db, store }))
  if (pages) {
    await app.register(pageRoutes(pages))
    await app.register(widgetRoutes(demoSite))
    await app.register(referenceRoutes)
  }
  if (simulator) await app.register(simulatorMount({ db, publicUrl, ...simulator }))
}

const describePublicApi = (routes: readonly RouteOptions[], publicUrl: string) =>
  describeApi(
    routes.filter(({ url }) => url.startsWith('/v1/')),
    {
      title: 'Parley API',
      description: apiDescription,
      url: `${publicUrl}/v1`,
      webhooks: eventWebhooks,
      tags: [
        { name: 'Account', description: 'The workspace and the API key of a request.' },
        {
          name: 'Contacts',
          description: 'Your customers, identified by phone number or by their identity on a channel.',
        },
        {
          name: 'Segments',
          description: 'Named audiences: a list that you maintain, or a filter that is evaluated on every read.',
        },
        {
          name: 'Conversations',
          description: 'One per contact and channel: its status, unread count and assigned member.',
        },
        { name: 'Reports', description: 'Figures of episodes: how many, how fast, by whom and when.' },
        { name: 'Messages', description: 'Messages of a conversation, and the delivery status of those you sent.' },
        { name: 'Templates', description: 'Messages that the channel approved, with the values that each one needs.' },
        {
          name: 'Automations',
          description: 'Rules and bots: what starts them, their steps, and what each of their runs did.',
        },
        {
          name: 'Broadcasts',
          description: 'One template to many recipients, sent at the sending rate of your number, with its progress.',
        },
        { name: 'Webhooks', description: 'Your endpoints that receive signed events.' },
      ],
    },
  )

const apiDescription = `Customer messaging that you host yourself.

Every request carries \`Authorization: Bearer <API key>\`. A successful response is \`{ data }\`, a list is
\`{ data, meta: { next_cursor } }\`, and an error is \`{ error: { code, message } }\`: branch on \`code\`. Each key may
make ${requestsPerMinute} requests per minute; every response reports how many are left. A POST with an \`Idempotency-Key\` header can be repeated safely.
In a request, null for an optional field means that the field is absent, unless the field is nullable. Include the
\`X-Request-Id\` of a response when you ask for help. Members find each request of the last seven days in the dashboard under
Developers, Requests.`
