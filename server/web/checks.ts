/**
 * What needs attention in an installation, as one list. The status page judges by it, and `npm run alerts` writes the alert rules
 * (`monitoring/alerts.yaml`) and their guide (`docs/alerts.md`) from it. `doctor` shares its limits.
 *
 * A check without `find` judges a rate: only Prometheus has the history that it needs. The status page judges the moment, while a rule
 * may require that it lasts.
 */
import { nowMs } from '../lib/clock.ts'
import type { Waiting } from '../lib/postgres/waiting.ts'
import type { Space } from '../lib/process/disk.ts'
import type { ServiceProcess } from '../lib/process/heartbeat.ts'

type Rule = {
  severity: 'page' | 'ticket'
  summary: string
  /** The condition of the alert rule, and how long it must hold. */
  expr: string
  for?: string
  /** In Markdown, with links relative to `docs/`. */
  advice: string
  /** Where the limit is exceeded now: the processes, services or folders. Null: no particular place. */
  find?: (observed: Observed) => readonly (string | null)[]
}

/** What the status page has read. Null: it could not be read. */
export type Observed = {
  queues: readonly ({ name: string } & Waiting)[] | null
  processes: readonly ServiceProcess[] | null
  disks: readonly { service: string; folder: string; is_nearly_full: boolean }[] | null
  delays: { search_seconds: number | null; search_pending_pages: number | null } | null
}

/** Limits of rules that are also judged elsewhere. */
const limits = {
  webhookSeconds: 300,
  webhooks: 10_000,
  automationSeconds: 60,
  searchSeconds: 60,
  searchPages: 1_000,
  files: 100,
  freeShare: 0.1,
  restartedMinutes: 15,
  processBytes: 500e6,
  lagSeconds: 0.5,
}

const rules: Record<string, Rule> = {
  ParleyDown: {
    severity: 'page',
    summary: 'A service does not answer.',
    expr: 'up{job="parley"} == 0',
    for: '1m',
    advice:
      'Prometheus cannot read `/metrics`. Look at the process manager and at the last lines of the log. `curl http://HOST:PORT/readyz` names what fails. A service that does not start says why in its last line: a wrong setting, a database that does not answer, a port in use.',
  },
  ParleyProcessSilent: {
    severity: 'page',
    summary: 'A process has not reported for 30 seconds.',
    expr: 'max(parley_processes{job="parley",what="silent"}) > 0',
    for: '1m',
    advice:
      'Each process reports every ten seconds. The status page (Settings, Status) names the process and its machine. It was killed, its machine is down, or it cannot reach the database: look at the process manager and at the log there. A service that was removed without a stop is listed for an hour.',
    find: ({ processes }) => (processes ?? []).filter(({ is_silent }) => is_silent).map(nameOf),
  },
  ParleyLoopFailing: {
    severity: 'page',
    summary: 'A background loop of a process fails.',
    expr: 'max(parley_processes{job="parley",what="failing"}) > 0',
    for: '1m',
    advice:
      '`/readyz` and the status page name the loop, and ARCHITECTURE.md says what each loop does. The log has a line `a background task failed` with the reason. The loop runs again by itself, and its work waits until then.',
    find: ({ processes }) => listFailing(processes).map((one) => `${nameOf(one)}: ${failingLoops(one).join(', ')}`),
  },
  ParleyNoWorker: {
    severity: 'page',
    summary: 'No process delivers webhooks, sends broadcasts and fetches media.',
    expr: 'max(parley_processes{job="parley",what="engines"}) < 1',
    for: '2m',
    advice:
      'Messages are sent and received, and everything else waits. Start a service with the role `worker`, or without `ROLES`: it catches up.',
    find: ({ processes }) => when(processes !== null && listEngines(processes).length === 0),
  },
  ParleyErrors: {
    severity: 'page',
    summary: 'More than 1 % of the requests fail with 500 or 503.',
    expr: 'sum(rate(parley_http_requests_total{job="parley",status=~"500|503"}[5m])) / sum(rate(parley_http_requests_total{job="parley"}[5m])) > 0.01',
    for: '5m',
    advice:
      'Open `/readyz`: it names the database, the disk or the loop that fails. Find `request failed` in the log; each line has the request id, the route and the error. 503 means that the database or the bucket of the media is absent or a disk is full, and ends with it. 502 does not count: it is a refusal of the provider.',
  },
  ParleySlowSends: {
    severity: 'ticket',
    summary: 'One send in a hundred takes over 2.5 seconds.',
    expr: 'histogram_quantile(0.99, sum by (le) (rate(parley_http_request_duration_seconds_bucket{job="parley",route="/v1/messages"}[5m]))) > 2.5',
    for: '10m',
    advice:
      'A send waits for the provider, so first compare with `GET /v1/me` in the dashboard. If that is slow too, the service or the database lacks CPU: look at the event loop and at the connections, then raise `PROCESSES`, add a service, or give PostgreSQL a machine of its own.',
  },
  ParleyCallbacksUnsigned: {
    severity: 'page',
    summary: 'Callbacks of a channel have a wrong signature and are refused.',
    expr: 'sum(increase(parley_channel_callbacks_total{job="parley",outcome="unsigned"}[10m])) > 0',
    advice:
      "Customers' messages and status reports do not arrive. Compare the app secret of the connection (Settings, Channels) with the provider's. One request is enough for this alert. If the secret is right, the requests are not from the provider; with `LOG_LEVEL=debug` the log has one line for each.",
  },
  ParleyCallbacksMalformed: {
    severity: 'ticket',
    summary: 'Parley cannot read a callback.',
    expr: 'sum(increase(parley_channel_callbacks_total{job="parley",outcome="malformed"}[15m])) > 0',
    advice:
      'The log has the reason. The callback is answered, so the provider does not repeat it. Report it with the log line: the provider may have changed its format.',
  },
  ParleyWebhooksLate: {
    severity: 'page',
    summary: 'A webhook has waited for five minutes.',
    expr: `max(parley_webhook_queue{job="parley",what="oldest_seconds"}) > ${limits.webhookSeconds}`,
    for: '5m',
    advice:
      'Open the page Webhooks: a slow or failing endpoint is shown with its last answer. Retries of a failing endpoint wait by design, up to their last attempt. If all endpoints answer, the worker is too slow: look at `parley_webhook_queue{what="depth"}` and at the CPU.',
    find: ({ queues }) => when((queueOf(queues, 'webhooks')?.oldest_seconds ?? 0) > limits.webhookSeconds),
  },
  ParleyWebhookQueueGrows: {
    severity: 'ticket',
    summary: 'Over 10,000 webhook deliveries wait, and more arrive than are delivered.',
    expr: `max(parley_webhook_queue{job="parley",what="depth"}) > ${limits.webhooks} and max(deriv(parley_webhook_queue{job="parley",what="depth"}[15m])) > 0`,
    for: '10m',
    advice:
      'The count stops at 100,000. Find the endpoints that answer slowly. Add a service with `ROLES=worker`, or ask the owner of the endpoint to answer before working.',
    find: ({ queues }) => when((queueOf(queues, 'webhooks')?.count ?? 0) > limits.webhooks),
  },
  ParleyWebhookSecretUnreadable: {
    severity: 'page',
    summary: 'The secret of a webhook endpoint cannot be decrypted.',
    expr: 'sum(increase(parley_webhook_attempts_total{job="parley",outcome="unopened"}[10m])) > 0',
    advice:
      'The service runs with another `ENCRYPTION_KEY` than the one that sealed the secret. Its deliveries wait and are not lost. Start the service with the right key.',
  },
  ParleyWebhookDeactivated: {
    severity: 'ticket',
    summary: 'A webhook endpoint was deactivated.',
    expr: 'max(delta(parley_webhook_endpoints{job="parley",state="inactive"}[15m])) > 0',
    advice:
      'After failures in a row Parley stops calling an endpoint, or a member has switched it off. The page Webhooks shows which and why. Repair the receiver, activate the endpoint, and redeliver what it missed.',
  },
  ParleyAutomationsLate: {
    severity: 'page',
    summary: 'A step of an automation is late by a minute.',
    expr: `max(parley_automation_runs{job="parley",what="late_seconds"}) > ${limits.automationSeconds}`,
    for: '5m',
    advice:
      'Customers wait for an answer of a bot. The log of the worker names steps that fail. If there are none, the worker is too slow: look at `parley_automation_runs{what="due"}` and at the CPU, and add a service with `ROLES=worker`.',
    find: ({ queues }) => when((queueOf(queues, 'automations')?.oldest_seconds ?? 0) > limits.automationSeconds),
  },
  ParleyBroadcastUnknown: {
    severity: 'ticket',
    summary: 'The provider did not answer sends of a broadcast.',
    expr: 'sum(increase(parley_broadcast_sends_total{job="parley",outcome="unknown"}[10m])) > 0',
    advice:
      "These recipients are not sent to again, because they may have the message. The broadcast's page lists them. If the provider is down, Parley pauses the broadcast and continues by itself.",
  },
  ParleySearchLate: {
    severity: 'ticket',
    summary: 'Searches and the overview lack the messages of the last minute.',
    expr: `max(parley_message_digest{job="parley",what="lag_seconds"}) > ${limits.searchSeconds}`,
    for: '5m',
    advice:
      'The worker that indexes messages is behind. Look at the CPU of the worker and of PostgreSQL. Nothing is lost; it catches up.',
    find: ({ delays }) => when((delays?.search_seconds ?? 0) > limits.searchSeconds),
  },
  ParleySearchIndexGrows: {
    severity: 'ticket',
    summary: 'New contacts are not merged into the search index.',
    expr: `max(parley_search_pending_pages{job="parley"}) > ${limits.searchPages}`,
    for: '10m',
    advice:
      'Searches for contacts become slow. The worker is too slow or does not run: check that one service has the role `worker`.',
    find: ({ delays }) => when((delays?.search_pending_pages ?? 0) > limits.searchPages),
  },
  ParleyMediaWaiting: {
    severity: 'ticket',
    summary: 'Over 100 files of customers are not stored yet.',
    expr: `max(parley_media{job="parley",state="pending"}) > ${limits.files}`,
    for: '10m',
    advice:
      "Check that the media folder is writable and has space, or that the bucket answers, and that the provider's download address can be reached. Files are fetched again until the provider deletes them.",
    find: ({ queues }) => when((queueOf(queues, 'media')?.count ?? 0) > limits.files),
  },
  ParleyMediaFailed: {
    severity: 'ticket',
    summary: 'Files of customers could not be stored.',
    expr: 'max(delta(parley_media{job="parley",state="failed"}[30m])) > 0',
    advice: 'The log has the reason for each. The conversation shows the message without its file.',
  },
  ParleyRequestLogDropped: {
    severity: 'ticket',
    summary: 'The request log lost entries.',
    expr: 'sum(increase(parley_request_log_dropped_total{job="parley",reason="overflow"}[10m])) > 0',
    advice:
      'The database is too slow for the request log. The requests themselves are not affected. Look at the disk and the CPU of PostgreSQL.',
  },
  ParleyPlanNearlyUsed: {
    severity: 'ticket',
    summary: 'A workspace has used 90 % of its messages of this month.',
    expr: 'max by (workspace) (parley_plan_messages{job="parley",what="used"}) / max by (workspace) (parley_plan_messages{job="parley",what="limit"}) > 0.9',
    advice:
      'At 100 % its sends are refused with 402 until the month ends. Change the plan with `/opt/parley/deploy/parley plan set`, or inform the customer. The first 1,000 workspaces with a limit are watched.',
  },
  ParleyDiskNearlyFull: {
    severity: 'page',
    summary: 'The disk of the data folder has less than 10 % free.',
    expr: `min(parley_disk_bytes{job="parley",what="free"} / ignoring(what) parley_disk_bytes{job="parley",what="total"}) < ${limits.freeShare}`,
    for: '5m',
    advice:
      'Enlarge the disk, or move `DATA_DIR` to a larger one. When it is full, requests fail with 503 until there is space again; nothing acknowledged is lost. Watch the disk of a PostgreSQL of your own with its own exporter.',
    find: ({ disks }) =>
      (disks ?? []).filter(({ is_nearly_full }) => is_nearly_full).map(({ service, folder }) => `${service} ${folder}`),
  },
  ParleyProcessRestarted: {
    severity: 'ticket',
    summary: 'A process of a service ended and was started again.',
    expr: `max by (instance, process) (delta(parley_process_restarts{job="parley"}[${limits.restartedMinutes}m])) > 0`,
    advice:
      'The log has its last error, with the name of the process. Requests in flight on it failed. With `out of memory` in the log, give it more memory ([Scaling](scaling.md#memory)).',
    find: ({ processes }) => listRunning(processes).filter(isRestarted).map(nameOf),
  },
  ParleyMemoryHigh: {
    severity: 'ticket',
    summary: 'The processes of a service have more than 500 MB each.',
    expr: `process_resident_memory_bytes{job="parley"} / on (instance) count by (instance) (parley_process_restarts{job="parley"}) > ${limits.processBytes}`,
    for: '15m',
    advice:
      'Imports and many open streams need memory for a while. If it keeps growing, restart the service and report it with the graph.',
    find: ({ processes }) => listLarge(processes),
  },
  ParleyEventLoopSlow: {
    severity: 'ticket',
    summary: 'A process of a service is too busy to answer at once.',
    expr: `max by (instance) (nodejs_eventloop_lag_p99_seconds{job="parley"}) > ${limits.lagSeconds}`,
    for: '5m',
    advice: 'The machine lacks CPU. Raise `PROCESSES` up to the number of cores, or add a service on another machine.',
    find: ({ processes }) =>
      listRunning(processes)
        .filter(({ event_loop_lag_seconds: lag }) => lag > limits.lagSeconds)
        .map(nameOf),
  },
}

export const checks = Object.entries(rules).map(([alert, rule]) => ({ alert, ...rule }))

export type Problem = Pick<Rule, 'severity' | 'summary' | 'advice'> & { alert: string; where: string | null }

/** What exceeds a limit now. Problems to page for come first. */
export const findProblems = (observed: Observed): Problem[] =>
  checks
    .flatMap(({ alert, severity, summary, advice, find }) =>
      (find?.(observed) ?? []).map((where) => ({ alert, where, severity, summary, advice })),
    )
    .sort((a, b) => a.severity.localeCompare(b.severity))

export const isNearlyFull = (freeBytes: number, totalBytes: number): boolean =>
  freeBytes / totalBytes < limits.freeShare

/** The disk that the alert rule judges. */
export const diskWithLeastShare = (disks: readonly Space[]): Space | undefined =>
  disks.toSorted((a, b) => a.freeBytes / a.totalBytes - b.freeBytes / b.totalBytes)[0]

const queueOf = (queues: Observed['queues'], name: string): Waiting | undefined =>
  queues?.find((one) => one.name === name)

type Processes = readonly ServiceProcess[] | null

const listRunning = (processes: Processes): ServiceProcess[] => (processes ?? []).filter(({ is_silent }) => !is_silent)

/** The processes with a failing loop. */
export const listFailing = (processes: Processes): ServiceProcess[] =>
  listRunning(processes).filter((one) => failingLoops(one).length > 0)

/** The processes that run the engines. */
export const listEngines = (processes: Processes): ServiceProcess[] =>
  listRunning(processes).filter(({ loops }) => loops.some(({ name }) => name === 'digest'))

const failingLoops = ({ loops }: ServiceProcess): string[] =>
  loops.flatMap(({ name, is_failing }) => (is_failing ? name : []))

const isRestarted = ({ restarts, started_at }: ServiceProcess): boolean =>
  restarts > 0 && Date.parse(started_at) > nowMs() - limits.restartedMinutes * 60_000

/** The services whose processes have more memory than the limit, on average. */
const listLarge = (processes: Processes): string[] =>
  [...Map.groupBy(listRunning(processes), ({ service }) => service)].flatMap(([service, own]) =>
    own.reduce((sum, { memory_bytes }) => sum + memory_bytes, 0) / own.length > limits.processBytes ? service : [],
  )

const nameOf = ({ service, process }: ServiceProcess): string => `${service} ${process}`
const when = (isExceeded: boolean): null[] => (isExceeded ? [null] : [])
