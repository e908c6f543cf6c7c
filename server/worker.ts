/**
 * The background: every loop on one screen.
 */
import type { FastifyBaseLogger } from 'fastify'
import { sweepEntries } from './accounts/audit.ts'
import { sweepAnswers } from './accounts/idempotency.ts'
import { sweepSessions } from './accounts/sessions.ts'
import { workspaceTopic } from './accounts/stream.ts'
import type { BreakerPolicy } from './broadcasts/circuit-breaker.ts'
import { recipientsFollow } from './broadcasts/counts.ts'
import { broadcastsTopic, startBroadcasting, watchBroadcasts } from './broadcasts/run.ts'
import type { Channel } from './channels/channel.ts'
import type { ChannelName } from './contacts/contacts.ts'
import { filterFields } from './conversations/filter-fields.ts'
import { startDigesting } from './insights/digest.ts'
import type { Sealer } from './lib/crypto.ts'
import type { Db } from './lib/db.ts'
import type { Health } from './lib/health.ts'
import type { Live } from './lib/live.ts'
import { type Loop, startRepeating } from './lib/loop.ts'
import type { Metrics } from './lib/metrics.ts'
import { analyzeGrown } from './lib/statistics.ts'
import type { Store } from './lib/store.ts'
import { dropMedia, startFetchingMedia } from './media/media.ts'
import { sweepUploads } from './media/uploads.ts'
import { sweepEarly } from './messages/early-reports.ts'
import { applyEarly } from './messages/intake.ts'
import { linkMedia } from './messages/messages.ts'
import { sweepPending } from './messages/settle.ts'
import { sweepVisitors } from './webchat/visitors.ts'
import { startDelivering } from './webhooks/deliver.ts'
import { sweepListeners } from './webhooks/listeners.ts'
import { keepDays } from './webhooks/partitions.ts'
import type { Poster } from './webhooks/post.ts'
import { deliveriesTopic, sweepDeliveries, watchDeliveries } from './webhooks/queue.ts'

export type Working = {
  db: Db
  log: FastifyBaseLogger
  sealer: Sealer
  channels: Record<ChannelName, Channel>
  store: Store
  live: Live
  poster: Poster
  /** For the queue of webhooks. */
  queueDb: Db
  /** For settling what was sent; a power cut may take its last commits back. */
  settleDb: Db
  /** For handing broadcasts over. */
  runDb: Db
  /** For the digest of messages. */
  digestDb: Db
  metrics: Metrics
  publicUrl: string
  health: Health
  /** When broadcasts stop and try again in an outage of the channel; as documented when absent. */
  breaker?: BreakerPolicy | undefined
}

/** `onMedia`: there is media to fetch, at once; `onQueued`: there are deliveries; `onBroadcast`: there is one to send. */
export type Worker = Loop & { onMedia(): void; onQueued(): void; onBroadcast(): void }

const minuteMs = 60_000

export function startWorker(working: Working): Worker {
  const {
    db,
    log,
    sealer,
    channels,
    store,
    live,
    poster,
    queueDb,
    settleDb,
    runDb,
    digestDb,
    metrics,
    health,
    breaker,
    publicUrl,
  } = working
  const repeat = (task: { name: string; everyMs: number; run: () => Promise<unknown> }) =>
    startRepeating({ ...task, log, health })
  const announce = (workspaceId: string) => live.announce(workspaceTopic(workspaceId))
  const applying = { publicUrl, follower: recipientsFollow }
  const media = startFetchingMedia({ db, sealer, channels, store, linkMessage: linkMedia, log, health, announce })
  const attempts = 'parley_webhook_attempts_total'
  const count = metrics.counter(attempts, 'Attempts to deliver a webhook, by what came of them.', 'outcome')
  const webhooks = startDelivering({ db: queueDb, sealer, poster, log, health, count })
  watchDeliveries(db, metrics)
  watchBroadcasts(db, metrics)
  const broadcasts = startBroadcasting({
    db,
    runDb,
    settleDb,
    sealer,
    channel: channels.msgapp,
    fields: filterFields,
    publicUrl,
    log,
    health,
    announce,
    onQueued: () => {
      webhooks.wake()
      live.announce(deliveriesTopic)
    },
    count: metrics.counter('parley_broadcast_sends_total', 'Sends of broadcasts, by what came of them.', 'outcome'),
    policy: breaker,
  })
  const countDropped = metrics.counter(
    'parley_early_reports_dropped_total',
    'Reports about unknown messages that were dropped: expired after an hour, or in excess of the limit per workspace.',
    'reason',
  )
  const ends = [live.listen(deliveriesTopic, webhooks.wake), live.listen(broadcastsTopic, broadcasts.wake)]
  const loops = [
    media,
    repeat({ name: 'statistics', everyMs: 1_000, run: () => analyzeGrown(db) }),
    repeat({
      name: 'early-reports',
      everyMs: 1_000,
      run: () => applyEarly(db, (ids) => void dropMedia(store, ids, log), announce, applying),
    }),
    webhooks,
    broadcasts,
    startDigesting({ db: digestDb, log, health }),
    repeat({
      name: 'sweep-early-reports',
      everyMs: 10_000,
      run: async () => {
        for (const [reason, count] of Object.entries(await sweepEarly(db))) {
          for (let i = 0; i < count; i++) countDropped(reason)
        }
      },
    }),
    repeat({ name: 'sweep-deliveries', everyMs: minuteMs, run: () => sweepDeliveries(db) }),
    repeat({ name: 'sweep-listeners', everyMs: 10 * minuteMs, run: () => sweepListeners(db) }),
    repeat({ name: 'days-of-events', everyMs: 60 * minuteMs, run: () => keepDays(db, log) }),
    repeat({
      name: 'sweep-pending',
      everyMs: minuteMs,
      run: async () => (await sweepPending(db, applying)).forEach(announce),
    }),
    repeat({
      name: 'sweep-forgotten',
      everyMs: 60 * minuteMs,
      run: async () => (await sweepPending(db, applying, 365)).forEach(announce),
    }),
    repeat({ name: 'sweep-uploads', everyMs: 10 * minuteMs, run: () => sweepUploads(db, store, log) }),
    repeat({ name: 'sweep-answers', everyMs: 10 * minuteMs, run: () => sweepAnswers(db) }),
    repeat({ name: 'sweep-sessions', everyMs: 10 * minuteMs, run: () => sweepSessions(db) }),
    repeat({ name: 'sweep-visitors', everyMs: 10 * minuteMs, run: () => sweepVisitors(db) }),
    repeat({ name: 'sweep-audit-log', everyMs: 60 * minuteMs, run: () => sweepEntries(db) }),
  ]
  let stopping: Promise<unknown> | undefined
  return {
    onMedia: media.wake,
    onQueued: webhooks.wake,
    onBroadcast: broadcasts.wake,
    async stop() {
      for (const end of ends) end()
      stopping ??= Promise.all(loops.map((loop) => loop.stop()))
      await stopping
    },
  }
}
