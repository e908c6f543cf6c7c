import assert from 'node:assert/strict'
import { test } from 'node:test'
import { divideTimes, readTimes, times } from './times.ts'

/** Callers, operators and documents rely on these values: they are promises. */
test('the engines wait as long as documented', () => {
  assert.deepEqual(times, {
    webhooks: {
      pollMs: 250,
      leaseMs: 8_000,
      lateMs: 1_000,
      postMs: 5_000,
      dnsMs: 3_000,
      bodyMs: 1_000,
      addressMs: 60_000,
      backoffMs: [3_000, 6_000, 12_000, 24_000],
      slowMs: 1_500,
      pauseMs: 1_000,
      stopMs: 5_500,
    },
    broadcasts: {
      pollMs: 500,
      cacheMs: 1_000,
      retryMs: 1_000,
      pairRetryMs: 6_000,
      recoveryMs: 30_000,
      breaker: {
        delaysMs: [30_000, 60_000, 120_000, 300_000, 600_000],
        probeMs: 30_000,
      },
      stopMs: 5_000,
    },
    automation: {
      pollMs: 500,
      togetherMs: 1_500,
      leaseMs: 15_000,
      silenceMs: 2_000,
      callMs: 10_000,
      callRetryMs: [2_000, 10_000, 60_000, 300_000],
      stopMs: 5_000,
    },
    imports: {
      pollMs: 1_000,
      leaseMs: 20_000,
      reportMs: 1_000,
      pauseMs: 2,
      retryMs: 5_000,
      stopMs: 5_000,
    },
    availability: {
      awayMs: 900_000,
      offlineMs: 120_000,
      beatMs: 30_000,
      settleMs: 5_000,
    },
    assignment: {
      pollMs: 500,
      pauseMs: 20,
      returnsMs: 5_000,
    },
    targets: { pollMs: 300 },
    merges: {
      abandonedMs: 10_000,
    },
    messages: {
      sendMs: 15_000,
      retryMs: [1_000, 2_000],
      repeatMs: 20_000,
      repeatPollMs: 100,
      echoMs: 20_000,
    },
    scheduled: {
      pollMs: 500,
      leaseMs: 20_000,
      repeatMs: 1_000,
      unknownMs: 30_000,
      retryMs: 5_000,
      slowMs: 1_000,
      stopMs: 5_000,
    },
    media: {
      pollMs: 1_000,
      fetchMs: 60_000,
      leaseMs: 90_000,
      retryMs: [1_000, 5_000, 30_000, 120_000, 600_000],
      storeRetryMs: 60_000,
      slowMs: 1_000,
      stopMs: 2_000,
      abortMs: 1_000,
    },
    idempotency: {
      leaseMs: 15_000,
      heartbeatMs: 5_000,
      pollMs: 1_000,
    },
    webChat: {
      pageMs: 10_000,
      queue: { pauseMs: 1_000, recheckMs: 60_000 },
    },
    digest: {
      pollMs: 1_000,
      wideMs: 30_000,
    },
    tasks: {
      retryMs: 10_000,
      statisticsMs: 1_000,
      contactSearchMs: 1_000,
      inboxCountsMs: 5_000,
      reportsMs: 15_000,
      earlyReportsMs: 1_000,
      sweepEarlyReportsMs: 10_000,
      wakeSnoozedMs: 1_000,
      mergesMs: 1_000,
      episodeHistoryMs: 1_000,
      episodeHoursMs: 5_000,
      sweepDeliveriesMs: 60_000,
      sweepListenersMs: 600_000,
      daysOfEventsMs: 3_600_000,
      daysOfRequestsMs: 3_600_000,
      sweepPendingMs: 60_000,
      sweepForgottenMs: 3_600_000,
      sweepUploadsMs: 600_000,
      sweepDraftsMs: 3_600_000,
      sweepAnswersMs: 600_000,
      sweepSessionsMs: 600_000,
      sweepVisitorsMs: 600_000,
      sweepAuditLogMs: 3_600_000,
      sweepImportsMs: 600_000,
      sweepScheduledMs: 3_600_000,
    },
    health: {
      graceMs: 30_000,
      diskMs: 5_000,
    },
    heartbeat: {
      beatMs: 10_000,
    },
    simulatorHost: {
      pollMs: 2_000,
      retryMs: 200,
      takeoverMs: 6_000,
    },
    simulator: {
      firstBackoffMs: 200,
      maxBackoffMs: 30_000,
      hangMs: 60_000,
    },
    supervisor: {
      firstDelayMs: 200,
      maxDelayMs: 30_000,
      stableMs: 60_000,
      answerMs: 1_000,
      drainMs: 4_000,
    },
  })
})

test('dividing reaches every time, and leaves at least a millisecond', () => {
  const tenth = divideTimes(10)
  assert.equal(tenth.webhooks.leaseMs, 800)
  assert.deepEqual(tenth.webhooks.backoffMs, [300, 600, 1_200, 2_400])
  assert.equal(tenth.broadcasts.breaker.delaysMs.at(-1), 60_000)
  assert.deepEqual(divideTimes(1), times)
  assert.equal(divideTimes(100_000).webhooks.pollMs, 1)
  assert.equal(divideTimes(10, tenth).webhooks.leaseMs, 80)
})

test('a program has the real times unless a test sets a divisor', () => {
  assert.deepEqual(readTimes({}), times)
  assert.deepEqual(readTimes({ PARLEY_TEST_TIME_DIVISOR: '' }), times)
  assert.deepEqual(readTimes({ PARLEY_TEST_TIME_DIVISOR: '10' }), divideTimes(10))
  for (const divisor of ['0', '101', '-1', '1.5', 'ten']) {
    assert.throws(() => readTimes({ PARLEY_TEST_TIME_DIVISOR: divisor }), /^Error: PARLEY_TEST_TIME_DIVISOR: must be/)
  }
})

test('every lease outlasts the work under it, also when tests divide the times', () => {
  for (const { webhooks, broadcasts, messages, media, idempotency, simulator } of [divideTimes(1), divideTimes(10)]) {
    // The connection may be made late in the time for the post, and the body follows the status line.
    assert.ok(webhooks.leaseMs - webhooks.lateMs > webhooks.postMs + webhooks.bodyMs)
    assert.ok(webhooks.dnsMs < webhooks.postMs)
    assert.ok(webhooks.slowMs < webhooks.postMs, 'an attempt without an answer is slow')
    assert.ok(webhooks.stopMs > webhooks.postMs)
    assert.ok(media.leaseMs > media.fetchMs)
    assert.ok(idempotency.leaseMs > 2 * idempotency.heartbeatMs, 'one heartbeat may fail')
    for (const waiting of [messages.echoMs, messages.repeatMs, broadcasts.breaker.probeMs, simulator.hangMs]) {
      assert.ok(waiting > messages.sendMs)
    }
  }
})
