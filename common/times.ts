/**
 * How long the engines wait: leases, timeouts, graces, polls and backoffs, in milliseconds. The engines get their part of this object
 * as a parameter, so that tests can divide it.
 *
 * The limits of HTTP requests are in `server/lib/http/server.ts`. What is kept for days is beside the statement that deletes it.
 */
const secondMs = 1_000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs

/** A page reports input at most this often. Pages import it without the times of the engines. */
export const inputReportMs = minuteMs

export const times = {
  webhooks: {
    /** A delivery that becomes due by time alone is found at most this late. */
    pollMs: 250,
    /** Longer than an attempt and its settling may take. The deliveries of a crashed worker are claimable after this time. */
    leaseMs: 8 * secondMs,
    /** An attempt that ends this shortly before the end of its lease must prove that it still holds the delivery. */
    lateMs: secondMs,
    /** For an attempt, from the name of the host to the status line. */
    postMs: 5 * secondMs,
    /** For the addresses of a host. Shorter than an attempt, which must still connect afterwards. */
    dnsMs: 3 * secondMs,
    /** The body of a response is read for at most this long after the status line. */
    bodyMs: secondMs,
    /** A kept connection is used for at most this long after its address was checked: then the name is resolved again. */
    addressMs: 60 * secondMs,
    /** The time before the next attempt, each varied by up to a fifth. */
    backoffMs: [3 * secondMs, 6 * secondMs, 12 * secondMs, 24 * secondMs],
    /** An attempt that takes longer is slow, whatever its outcome. */
    slowMs: 1_500,
    /** An endpoint whose secret cannot be opened is paused for this time. */
    pauseMs: secondMs,
    /** `stop` waits this long for posts in flight. */
    stopMs: 5_500,
  },
  broadcasts: {
    /** A scheduled broadcast starts at most this late. */
    pollMs: 500,
    /** A connection is cached for this time. */
    cacheMs: secondMs,
    retryMs: secondMs,
    /** The channel accepts one message per recipient every six seconds. */
    pairRetryMs: 6 * secondMs,
    /** A throttled number is back at its full rate after this time without another throttle. */
    recoveryMs: 30 * secondMs,
    breaker: {
      /** Before the first probe, the second, and so on. The last one repeats. */
      delaysMs: [30 * secondMs, minuteMs, 2 * minuteMs, 5 * minuteMs, 10 * minuteMs],
      /** For the outcome of a probe. Longer than the timeout of a send. */
      probeMs: 30 * secondMs,
    },
    /** `stop` waits this long for the sends in flight. */
    stopMs: 5 * secondMs,
  },
  imports: {
    /** A job that a signal did not announce is claimed at most this late. */
    pollMs: secondMs,
    /** Extended while a worker has the job. The job of a crashed worker is claimable after this time. */
    leaseMs: 20 * secondMs,
    /** While a file is only read, the progress is shown this often. */
    reportMs: secondMs,
    /** Between two chunks, for other users of the database. */
    pauseMs: 2,
    /** After a failure of ours. */
    retryMs: 5 * secondMs,
    /** `stop` waits this long for the chunks in flight. */
    stopMs: 5 * secondMs,
  },
  automation: {
    /** A run that becomes due by time alone starts at most this late. */
    pollMs: 500,
    /** Messages of a customer within this time are one answer. */
    togetherMs: 1_500,
    /** Extended while a worker executes the run. The runs of a crashed worker are claimable after this time. */
    leaseMs: 15 * secondMs,
    /** Conversations are checked for silence this often. */
    silenceMs: 2 * secondMs,
    /** For a call of a URL. */
    callMs: 10 * secondMs,
    /** Before a failed call is made again. */
    callRetryMs: [2 * secondMs, 10 * secondMs, minuteMs, 5 * minuteMs],
    /** `stop` waits this long for the steps in flight. */
    stopMs: 5 * secondMs,
  },
  availability: {
    /** A member without input for this time is away. */
    awayMs: 15 * minuteMs,
    /** A member without an open stream for this time is offline. */
    offlineMs: 2 * minuteMs,
    /** Each process reports the members with an open stream this often. */
    beatMs: 30 * secondMs,
    /** States that time has changed are stored this often. */
    settleMs: 5 * secondMs,
  },
  assignment: {
    /** A change that no signal announced is found at most this late. */
    pollMs: 500,
    /** Between two rounds: what happens meanwhile shares a round. */
    pauseMs: 20,
    /** Conversations of members who are offline are checked this often. */
    returnsMs: 5 * secondMs,
  },
  /** Clocks of targets follow a change at most this late, and a breach is recorded at most this late. */
  targets: { pollMs: 300 },
  /** A merge that no process continued for this time is continued by a worker. */
  merges: { abandonedMs: 10 * secondMs },
  messages: {
    /** A send has failed with an unknown outcome when the channel does not answer in this time. */
    sendMs: 15 * secondMs,
    /** Before a temporarily refused message is sent again. */
    retryMs: [secondMs, 2 * secondMs],
    /** How long a repeated request waits for the outcome of the first, and how often it checks. */
    repeatMs: 20 * secondMs,
    repeatPollMs: 100,
    /** An echo waits this long for the answer to a send of ours. Longer than a send waits for it. */
    echoMs: 20 * secondMs,
  },
  scheduled: {
    /** A scheduled message is claimed at most this late. */
    pollMs: 500,
    /** Extended while a worker sends the message. That of a crashed worker is claimable after this time. */
    leaseMs: 20 * secondMs,
    /** How long a repeated attempt waits for the outcome of the first. */
    repeatMs: secondMs,
    /** Before the outcome of a send is asked for again that is not known yet. */
    unknownMs: 30 * secondMs,
    /** After a failure of ours. */
    retryMs: 5 * secondMs,
    /** A send that takes longer is slow and gives up its slot. */
    slowMs: secondMs,
    /** `stop` waits this long for the sends in flight. */
    stopMs: 5 * secondMs,
  },
  media: {
    pollMs: secondMs,
    /** For a whole fetch, from the request to the last byte stored. */
    fetchMs: minuteMs,
    /** Longer than a fetch and its settling may take. */
    leaseMs: 90 * secondMs,
    retryMs: [secondMs, 5 * secondMs, 30 * secondMs, 2 * minuteMs, 10 * minuteMs],
    /** After a failure of our own store. It does not count as an attempt. */
    storeRetryMs: minuteMs,
    /** A fetch that takes longer is slow and gives up its slot. */
    slowMs: secondMs,
    /** On stop, fetches in flight have this long to finish. Then they are aborted and have `abortMs` to settle. */
    stopMs: 2 * secondMs,
    abortMs: secondMs,
  },
  idempotency: {
    /** Renewed while the first request is in flight, so a duplicate takes over only from a crashed one, and within seconds. */
    leaseMs: 15 * secondMs,
    heartbeatMs: 5 * secondMs,
    /** Between two polls of a waiting duplicate. The first ones are sooner. */
    pollMs: secondMs,
  },
  webChat: {
    /** The page of a visitor is stored at most this often. */
    pageMs: 10 * secondMs,
    /** The queues of waiting visitors are read at most this often, and at least: the expected time also changes while no queue moves. */
    queue: { pauseMs: secondMs, recheckMs: minuteMs },
  },
  digest: {
    pollMs: secondMs,
    /** A pass also reads messages that were committed late this often. */
    wideMs: 30 * secondMs,
  },
  /** The periodic tasks of a worker. */
  tasks: {
    /** A task that failed runs again after this time, also when its interval is longer. */
    retryMs: 10 * secondMs,
    statisticsMs: secondMs,
    contactSearchMs: secondMs,
    inboxCountsMs: 5 * secondMs,
    /** Reports add the changes of this time when they are read. Changes that are counted together cost a tenth. */
    reportsMs: 15 * secondMs,
    earlyReportsMs: secondMs,
    sweepEarlyReportsMs: 10 * secondMs,
    wakeSnoozedMs: secondMs,
    mergesMs: secondMs,
    episodeHistoryMs: secondMs,
    episodeHoursMs: 5 * secondMs,
    sweepDeliveriesMs: minuteMs,
    sweepListenersMs: 10 * minuteMs,
    daysOfEventsMs: hourMs,
    daysOfRequestsMs: hourMs,
    sweepPendingMs: minuteMs,
    sweepForgottenMs: hourMs,
    sweepUploadsMs: 10 * minuteMs,
    sweepDraftsMs: hourMs,
    sweepAnswersMs: 10 * minuteMs,
    sweepSessionsMs: 10 * minuteMs,
    sweepVisitorsMs: 10 * minuteMs,
    sweepAuditLogMs: hourMs,
    sweepImportsMs: 10 * minuteMs,
    sweepScheduledMs: hourMs,
  },
  health: {
    /** `/readyz` names a background loop that has failed for this time. */
    graceMs: 30 * secondMs,
    /** A service without load writes seldom, so a full disk is reported for this time after the last error. */
    diskMs: 5 * secondMs,
  },
  /** How often a process reports itself. Another process takes it for silent after 30 seconds. */
  heartbeat: { beatMs: 10 * secondMs },
  simulatorHost: {
    pollMs: 2 * secondMs,
    /** Between two attempts to open the journal at the start. */
    retryMs: 200,
    /** The host may be busy, and the process that has its journal may take four seconds to stop. */
    takeoverMs: 6 * secondMs,
  },
  /** Of the simulated provider. */
  simulator: {
    /** Before a refused callback is posted again, doubled each time. */
    firstBackoffMs: 200,
    maxBackoffMs: 30 * secondMs,
    /** A send with the fault `hang` ends without an answer after this time. */
    hangMs: minuteMs,
  },
  supervisor: {
    /** Before a process that ended is started again, doubled each time. */
    firstDelayMs: 200,
    maxDelayMs: 30 * secondMs,
    /** A process that ran this long starts with the first delay again. */
    stableMs: minuteMs,
    /** For the answer of a process to another one. */
    answerMs: secondMs,
    /** How long requests in flight may take after a signal to stop. */
    drainMs: 4 * secondMs,
  },
}

type Values<Part> = Part extends number ? number : { readonly [Name in keyof Part]: Values<Part[Name]> }

export type Times = Values<typeof times>

/** All times divided by a number, at least a millisecond each. */
export function divideTimes(by: number, base: Times = times): Times {
  const divide = (part: unknown): unknown => {
    if (typeof part === 'number') return Math.max(1, Math.round(part / by))
    if (Array.isArray(part)) return part.map(divide)
    return Object.fromEntries(Object.entries(part as object).map(([name, each]) => [name, divide(each)]))
  }
  return divide(base) as Times
}

/** The times of a program. Tests that wait for a lease or a backoff set `PARLEY_TEST_TIME_DIVISOR`; no other program does. */
export function readTimes({ PARLEY_TEST_TIME_DIVISOR: divisor }: Record<string, string | undefined>): Times {
  if (!divisor) return times
  const by = /^\d{1,3}$/.test(divisor) ? Number(divisor) : 0
  if (by < 1 || by > 100) throw new Error('PARLEY_TEST_TIME_DIVISOR: must be a number, 1 to 100')
  return divideTimes(by)
}
