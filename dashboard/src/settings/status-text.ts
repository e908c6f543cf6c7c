/** The status of the installation: its sentence, and the plain text for a support request. It has no secrets and no customers' data. */
import type { DataOf } from '../lib/api.ts'
import { formatBytes, formatNumber, formatSpan } from '../lib/time.ts'
import { settingsWords } from '../words/settings.ts'

const { status: text } = settingsWords

export type StatusView = DataOf<'GET /status'>
export type Process = NonNullable<StatusView['processes']>[number]
export type Queue = NonNullable<StatusView['queues']>[number]

/** Where the service stops counting. */
const maxCounted = 100_000

export function toneOf({ problems, unknown }: StatusView): 'green' | 'amber' | 'red' {
  if (problems.some(({ severity }) => severity === 'page')) return 'red'
  return problems.length + unknown.length > 0 ? 'amber' : 'green'
}

export function sentenceOf({ problems, unknown }: StatusView): string {
  if (problems.length > 0) return text.attention(problems.length)
  return unknown.length > 0 ? text.incomplete : text.works
}

export const countText = ({ count }: Queue): string =>
  count >= maxCounted ? text.queues.atLeast(formatNumber(count)) : formatNumber(count)

export const ageText = ({ oldest_seconds: seconds }: Queue): string =>
  seconds === null ? text.queues.none : spanOf(seconds)

export const spanOf = (seconds: number): string => formatSpan(Math.max(0, seconds) * 1000)

export function stateOf({ is_silent, loops }: Process): 'running' | 'failing' | 'silent' {
  if (is_silent) return 'silent'
  return loops.some(({ is_failing }) => is_failing) ? 'failing' : 'running'
}

/** The versions that run. There are two during an upgrade. */
export const versionsOf = (processes: readonly Process[]): string[] => [
  ...new Set(processes.filter(({ is_silent }) => !is_silent).map(({ version }) => version)),
]

export function describeStatus(status: StatusView): string {
  const { checked_at, problems, unknown, queues, processes, disks, delays, database, backup } = status
  const section = (title: string, lines: readonly string[] | undefined) => ['', title, ...(lines ?? ['unknown'])]
  return [
    `Parley status, ${checked_at}`,
    sentenceOf(status),
    ...problems.map(({ alert, summary, where }) => `- ${alert}: ${summary}${where ? ` (${where})` : ''}`),
    ...unknown.map(({ part, reason }) => `- unknown: ${part}: ${reason}`),
    ...section(
      text.queues.title,
      queues?.map((queue) => `${queue.name}: ${countText(queue)}, oldest ${ageText(queue)}`),
    ),
    ...section(text.delays.title, delays ? [JSON.stringify(delays)] : undefined),
    ...section(
      text.processes.title,
      processes?.map((one) =>
        [
          `${one.service} ${one.process}: ${stateOf(one)}`,
          `version ${one.version}`,
          `started ${one.started_at}`,
          `reported ${one.reported_at}`,
          `restarts ${one.restarts}`,
          formatBytes(one.memory_bytes),
          ...one.loops.flatMap(({ name, is_failing }) => (is_failing ? `${name} fails` : [])),
        ].join(', '),
      ),
    ),
    ...section(
      text.disks.title,
      disks?.map(
        ({ service, folder, free_bytes, total_bytes }) =>
          `${service} ${folder}: ${formatBytes(free_bytes)} of ${formatBytes(total_bytes)} free`,
      ),
    ),
    ...section(text.database.title, database ? [JSON.stringify(database)] : undefined),
    ...section(text.backup.title, backup ? [JSON.stringify(backup)] : undefined),
    '',
  ].join('\n')
}
