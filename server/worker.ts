/**
 * The engines and periodic tasks of a process with the `worker` role.
 */
import type { FastifyBaseLogger } from 'fastify'
import type { Times } from '../common/times.ts'
import { sweepEntries } from './accounts/audit.ts'
import { sweepAnswers } from './accounts/idempotency.ts'
import { keepRequestDays } from './accounts/request-log.ts'
import { sweepSessions } from './accounts/sign-in/sessions.ts'
import { keepStepDays } from './automation/log-days.ts'
import { startAutomations } from './automation/loop.ts'
import { runStopper } from './automation/runs.ts'
import { startScheduled } from './automation/scheduled-loop.ts'
import { sweepScheduled, watchScheduled } from './automation/scheduled-queue.ts'
import { watchAutomations } from './automation/watch.ts'
import { recipientFollower } from './broadcasts/counts.ts'
import { sweepDrafts } from './broadcasts/drafts.ts'
import { countedSends } from './broadcasts/driver.ts'
import { createLiveSendCounter } from './broadcasts/pace.ts'
import { watchBroadcasts } from './broadcasts/poll.ts'
import { startBroadcasts } from './broadcasts/run.ts'
import type { Channel } from './channels/channel.ts'
import type { WorkerPools } from './config/pools.ts'
import type { ChannelName } from './contacts/resource.ts'
import { createSearchMerge } from './contacts/search-index.ts'
import { countedPolicies, startAssignment, watchAssignment } from './conversations/assignment/loop.ts'
import { hasEndedSnoozes, wakeSnoozed } from './conversations/changes.ts'
import { computeEpisodeHours } from './conversations/episodes/hours.ts'
import { filterFields } from './conversations/filter-fields.ts'
import { foldInboxCounts } from './conversations/inbox-counts.ts'
import { startImports } from './imports/run.ts'
import { sweepImports } from './imports/sweep.ts'
import { startDigest } from './insights/digest.ts'
import { createEpisodeHistory } from './insights/episode-history.ts'
import { countReports } from './insights/reports/count.ts'
import type { Sealer } from './lib/crypto.ts'
import { analyzeGrown } from './lib/postgres/statistics.ts'
import type { Health } from './lib/process/health.ts'
import { type Loop, startRepeating } from './lib/process/loop.ts'
import type { Metrics } from './lib/process/metrics.ts'
import { startPolls } from './lib/process/polls.ts'
import type { Store } from './lib/store.ts'
import { deleteFiles, startMediaFetch } from './media/media.ts'
import { sweepUploads } from './media/uploads.ts'
import { eraseUntouched } from './merge-erase/erase-untouched.ts'
import { completeAbandonedMerges, hasMerges } from './merge-erase/merge-contacts.ts'
import { isMerging } from './merge-erase/merge-history.ts'
import { linkMedia } from './messages/messages.ts'
import {
  applyEarlyReports,
  dropReasons,
  hasEarlyReports,
  sweepEarlyReports,
} from './messages/receiving/early-reports.ts'
import { createSender } from './messages/sending/send.ts'
import { sweepPending } from './messages/sending/settle.ts'
import { sweepPreviews } from './previews/sandbox.ts'
import { startSatisfaction } from './satisfaction/loop.ts'
import type { Live } from './signals/live.ts'
import type { Signals } from './signals/signals.ts'
import { startTargets, watchTargets } from './targets/loop.ts'
import { sweepVisitors } from './webchat/visitors.ts'
import { sweepDeliveries } from './webhooks/cancel.ts'
import { countedAttempts, startDelivering } from './webhooks/deliver.ts'
import { sweepOldSecrets } from './webhooks/endpoints.ts'
import { sweepListeners } from './webhooks/listeners.ts'
import { keepEventDays } from './webhooks/partitions.ts'
import type { Poster } from './webhooks/post.ts'
import { watchDeliveries } from './webhooks/queue.ts'

export type WorkerParts = {
  pools: WorkerPools
  log: FastifyBaseLogger
  sealer: Sealer
  channels: Record<ChannelName, Channel>
  store: Store
  signals: Signals
  live: Live
  poster: Poster
  /** Posts the calls of automations. */
  callPoster: Poster
  metrics: Metrics
  publicUrl: string
  health: Health
  times: Times
  /** Consecutive failures that open the circuit breaker of broadcasts; the documented number when absent. */
  failuresToOpen?: number | undefined
}

export function startWorker(parts: WorkerParts): Loop {
  const {
    pools,
    log,
    sealer,
    channels,
    store,
    signals,
    live,
    poster,
    callPoster,
    metrics,
    health,
    times,
    failuresToOpen,
    publicUrl,
  } = parts
  const db = pools.general
  const every = times.tasks
  const repeat = (task: { name: string; everyMs: number; run: () => Promise<unknown> }) =>
    startRepeating({ ...task, retryMs: times.tasks.retryMs, log, health })
  const polls = startPolls({ db, log, health })
  const signalAll = (workspaceIds: readonly string[]) => workspaceIds.forEach(signals.changed)
  const applying = { publicUrl, follower: recipientFollower, runs: runStopper }
  const onMediaGone = (ids: readonly string[]) => void deleteFiles(store, ids, log)
  const countAttempt = metrics.counter(
    'parley_webhook_attempts_total',
    'Attempts to deliver a webhook, by outcome.',
    'outcome',
    countedAttempts,
  )
  const countSend = metrics.counter(
    'parley_broadcast_sends_total',
    'Sends of broadcasts, by outcome.',
    'outcome',
    countedSends,
  )
  const countDropped = metrics.counter(
    'parley_early_reports_dropped_total',
    'Reports about unknown messages that were dropped: expired after an hour, or in excess of the limit per workspace.',
    'reason',
    dropReasons,
  )
  const countAssigned = metrics.counter(
    'parley_assignments_total',
    'Conversations that policies of teams assigned, by policy, or returned to the queue because the member was offline.',
    'policy',
    countedPolicies,
  )
  watchDeliveries(db, metrics)
  watchBroadcasts(db, metrics)
  watchScheduled(db, metrics)
  watchAutomations(db, metrics)
  watchAssignment(db, metrics)
  watchTargets(db, metrics)

  const media = startMediaFetch({
    ...{ db, sealer, channels, store, log, polls, signals, times: times.media },
    linkMessage: linkMedia,
  })
  const webhooks = startDelivering({
    ...{ db: pools.queue, sealer, poster, log, health, polls, times: times.webhooks },
    count: countAttempt,
  })
  const broadcasts = startBroadcasts({
    pools,
    sealer,
    channel: channels.msgapp,
    fields: filterFields,
    publicUrl,
    log,
    health,
    polls,
    signals,
    count: countSend,
    times: times.broadcasts,
    failuresToOpen,
  })
  const imports = startImports({ db, store, log, polls, signals, eraseUntouched, times: times.imports })
  const liveSends = createLiveSendCounter(db, log)
  const sending = {
    pools: { messages: db, settle: pools.settle },
    sealer,
    channels,
    signals,
    publicUrl,
    onSend: liveSends.count,
  }
  const automations = startAutomations({
    ...{ db, sender: createSender({ ...sending, times: times.messages }) },
    ...{ poster: callPoster, sealer, signals, log, health, polls, channels, times: times.automation },
  })
  const scheduled = startScheduled({
    ...{ db, log, polls, signals, times: times.scheduled },
    // A member's message ends automations, as a reply does. The loop asks for an unknown outcome again, so it need not wait for it.
    sender: createSender({
      ...{ ...sending, runs: runStopper },
      times: { ...times.messages, repeatMs: times.scheduled.repeatMs },
    }),
  })
  const assignment = startAssignment({ db, log, health, polls, signals, times, count: countAssigned })
  const satisfaction = startSatisfaction({
    ...{ db, channels, log, polls, signals, times: times.scheduled },
    sender: createSender({ ...sending, times: { ...times.messages, repeatMs: times.scheduled.repeatMs } }),
  })
  const stopListening = [
    signals.on('changesQueued', automations.wake),
    signals.on('mediaPending', media.wake),
    signals.on('deliveriesQueued', webhooks.wake),
    signals.on('broadcastReady', broadcasts.wake),
    signals.on('importReady', imports.wake),
    signals.on('scheduledReady', scheduled.wake),
    signals.on('assignmentReady', assignment.wake),
    signals.on('ratingsReady', satisfaction.wake),
  ]
  const loops = [
    media,
    webhooks,
    broadcasts,
    imports,
    automations,
    scheduled,
    assignment,
    startTargets({ db: pools.queue, polls, signals, times: times.targets }),
    satisfaction,
    startDigest({ db: pools.queue, log, health, metrics, signals, times: times.digest }),
    repeat({ name: 'statistics', everyMs: every.statisticsMs, run: () => analyzeGrown(db) }),
    repeat({ name: 'contact-search', everyMs: every.contactSearchMs, run: createSearchMerge(db, metrics) }),
    repeat({ name: 'inbox-counts', everyMs: every.inboxCountsMs, run: () => foldInboxCounts(db) }),
    repeat({ name: 'reports', everyMs: every.reportsMs, run: () => countReports(db) }),
    polls.add({
      name: 'early-reports',
      everyMs: every.earlyReportsMs,
      isDue: hasEarlyReports,
      run: () => applyEarlyReports(db, onMediaGone, signals, applying, times.messages),
    }),
    repeat({
      name: 'sweep-early-reports',
      everyMs: every.sweepEarlyReportsMs,
      run: async () => {
        const dropped = await sweepEarlyReports(db)
        for (const reason of dropReasons) for (let i = 0; i < dropped[reason]; i++) countDropped(reason)
      },
    }),
    polls.add({
      name: 'wake-snoozed',
      everyMs: every.wakeSnoozedMs,
      isDue: hasEndedSnoozes,
      run: async () => {
        for (const workspaceId of await wakeSnoozed(db)) signals.inboxChanged(workspaceId)
      },
    }),
    repeat({ name: 'episode-history', everyMs: every.episodeHistoryMs, run: createEpisodeHistory(db, isMerging) }),
    repeat({ name: 'episode-hours', everyMs: every.episodeHoursMs, run: () => computeEpisodeHours(db) }),
    polls.add({
      name: 'merges',
      everyMs: every.mergesMs,
      isDue: hasMerges,
      run: () => completeAbandonedMerges({ db, live, signals }, times.merges),
    }),
    repeat({
      name: 'sweep-deliveries',
      everyMs: every.sweepDeliveriesMs,
      run: async () => {
        await sweepDeliveries(db)
        await sweepOldSecrets(db)
      },
    }),
    repeat({ name: 'sweep-listeners', everyMs: every.sweepListenersMs, run: () => sweepListeners(db) }),
    repeat({ name: 'days-of-events', everyMs: every.daysOfEventsMs, run: () => keepEventDays(db, log) }),
    repeat({ name: 'days-of-steps', everyMs: every.daysOfEventsMs, run: () => keepStepDays(db, log) }),
    repeat({ name: 'days-of-requests', everyMs: every.daysOfRequestsMs, run: () => keepRequestDays(db, log) }),
    repeat({
      name: 'sweep-pending',
      everyMs: every.sweepPendingMs,
      run: async () => signalAll(await sweepPending(db, applying)),
    }),
    repeat({
      name: 'sweep-forgotten',
      everyMs: every.sweepForgottenMs,
      run: async () => signalAll(await sweepPending(db, applying, 365)),
    }),
    repeat({
      name: 'sweep-uploads',
      everyMs: every.sweepUploadsMs,
      run: async () => {
        await sweepUploads(db, store, log)
        await sweepPreviews({ db, store })
      },
    }),
    repeat({ name: 'sweep-drafts', everyMs: every.sweepDraftsMs, run: async () => signalAll(await sweepDrafts(db)) }),
    repeat({ name: 'sweep-answers', everyMs: every.sweepAnswersMs, run: () => sweepAnswers(db) }),
    repeat({ name: 'sweep-sessions', everyMs: every.sweepSessionsMs, run: () => sweepSessions(db) }),
    repeat({ name: 'sweep-visitors', everyMs: every.sweepVisitorsMs, run: () => sweepVisitors(db) }),
    repeat({ name: 'sweep-imports', everyMs: every.sweepImportsMs, run: () => sweepImports({ db, store }) }),
    repeat({ name: 'sweep-scheduled', everyMs: every.sweepScheduledMs, run: () => sweepScheduled(db) }),
    repeat({ name: 'sweep-audit-log', everyMs: every.sweepAuditLogMs, run: () => sweepEntries(db) }),
  ]
  let stopping: Promise<unknown> | undefined
  return {
    async stop() {
      for (const stop of stopListening) stop()
      stopping ??= Promise.all([polls, ...loops].map((loop) => loop.stop()))
      await stopping
      await liveSends.stop()
    },
  }
}
