/**
 * The connected channels: whether the callback URL works as the provider uses it, and whether the provider accepts the token.
 *
 * The handshake is the provider's, with the stored verify token. Its challenge is marked, so the service does not record it as
 * a handshake of the provider.
 */
import { times } from '../../common/times.ts'
import { createChannels } from '../channels/adapters.ts'
import type { CheckStep } from '../channels/channel.ts'
import { callbackUrl, listProvidedConnections, type ProvidedConnection } from '../channels/connections.ts'
import { newCheckChallenge } from '../channels/signature.ts'
import { nowMs } from '../lib/clock.ts'
import { createSealer } from '../lib/crypto.ts'
import { createHttp, type Http } from '../lib/http/client.ts'
import { within } from '../lib/time.ts'
import { checkMs, ok, problem, type Result, skipped, warning } from './check.ts'
import type { OpenedDatabase } from './database.ts'
import type { Installation } from './installation.ts'

/** More would not end in time. */
const maxConnections = 20
const askMs = checkMs - 1_000

export type ListedChannels = { connections: ProvidedConnection[]; reason?: string }

/** Never throws: `reason` says why there is no list. */
export async function readConnections(
  connection: OpenedDatabase['connection'],
  installation: Installation,
): Promise<ListedChannels> {
  const { db } = connection
  if (!db) return { connections: [], reason: connection.reason }
  try {
    const [table] = await db<{ exists: boolean }[]>`select to_regclass('channel_connections') is not null as exists`
    const key = installation.readKey()
    if (!table?.exists || !key) return { connections: [], reason: 'no channel is connected yet' }
    return { connections: await listProvidedConnections(db, createSealer(key), maxConnections + 1) }
  } catch {
    return { connections: [], reason: 'the connections cannot be read; see the findings above' }
  }
}

/** `notServing`: why the callbacks cannot be tried. */
export async function checkChannels(
  { connections, reason }: ListedChannels,
  installation: Installation,
  notServing: string | undefined,
): Promise<Result[]> {
  if (reason) return [skipped(reason)]
  if (connections.length === 0) return [ok('no channel with a provider is connected')]
  const http = createHttp({ connections: maxConnections })
  try {
    const results = await Promise.all(
      connections
        .slice(0, maxConnections)
        .flatMap((connection) => [
          checkCallback(http, connection, installation, notServing),
          checkProvider(http, connection, notServing),
        ]),
    )
    const rest = skipped(`only the newest ${maxConnections} connections were checked`)
    return connections.length > maxConnections ? [...results, rest] : results
  } finally {
    void http.stop()
  }
}

const nameOf = ({ channel, workspace_name, simulator }: ProvidedConnection): string =>
  `${channel} of "${workspace_name}"${simulator ? ' (simulator)' : ''}`

async function checkCallback(
  http: Http,
  connection: ProvidedConnection,
  { config: { publicUrl } }: Installation,
  notServing: string | undefined,
): Promise<Result> {
  const name = nameOf(connection)
  const url = callbackUrl(publicUrl, connection)
  if (!connection.verify_token) {
    return problem(
      `${name}: its secrets cannot be opened with this key`,
      'Start with the right ENCRYPTION_KEY, or enter the secrets again under Settings, Channels.',
    )
  }
  if (notServing) return skipped(`${name}, callback: ${notServing}`)
  if (!connection.simulator && !url.startsWith('https://')) {
    const fix = 'Set PUBLIC_URL to the public https address, restart, and enter the new callback URL at the provider.'
    return problem(`${name}: the provider cannot call ${url}, which is not https`, fix)
  }
  const challenge = newCheckChallenge()
  const query = new URLSearchParams({
    'hub.mode': 'subscribe',
    'hub.verify_token': connection.verify_token,
    'hub.challenge': challenge,
  })
  // The check of the certificate has a finding of its own.
  const answer = await http.request({ method: 'GET', url: `${url}?${query}`, timeoutMs: askMs, isPrivate: true })
  if (!answer.ok) {
    const fix = `Check DNS, firewall and proxy of PUBLIC_URL. If only this machine cannot reach its own public address, run the check from outside: docs/connect-a-number.md.`
    return problem(`${name}: the callback ${url} cannot be reached: ${answer.message}`, fix)
  }
  if (answer.status !== 200 || answer.body.toString('utf8') !== challenge) {
    return problem(
      `${name}: the callback ${url} answers HTTP ${answer.status} without the challenge`,
      fixOf(answer.status),
    )
  }
  if (!connection.simulator && connection.callback_verified_at === null) {
    const fix =
      'Enter the callback URL and the verify token in the console of the provider (docs/connect-a-number.md, step 2).'
    return warning(`${name}: the callback ${url} works, and the provider has not verified it yet`, fix)
  }
  return ok(`${name}: the callback ${url} answers`)
}

function fixOf(status: number): string {
  if (status >= 300 && status < 400)
    return 'Set PUBLIC_URL to the address to which the redirect leads: the provider follows none.'
  if (status === 403 || status === 404) {
    return 'PUBLIC_URL leads to another service or the proxy blocks /channels/: let it pass /channels/ to this service unchanged.'
  }
  if (status >= 500)
    return 'The proxy does not reach the service: correct its upstream, and check that the service is ready.'
  return 'Let the proxy pass /channels/ to this service unchanged, with the query.'
}

async function checkProvider(
  http: Http,
  connection: ProvidedConnection,
  notServing: string | undefined,
): Promise<Result> {
  const name = nameOf(connection)
  if (!connection.access_token) return skipped(`${name}, access token: it cannot be opened with this key`)
  if (connection.simulator === 'built_in' && notServing) return skipped(`${name}, access token: ${notServing}`)
  const steps = await within(askMs, createChannels(http, times.messages)[connection.channel].check(connection))
  if (!steps) {
    const fix = 'Allow outgoing connections to the provider, and check its status page.'
    return problem(`${name}: ${connection.base_url} gave no answer within ${askMs / 1000} s`, fix)
  }
  const failed = steps.find((step) => !step.ok)
  if (!failed) return ok(`${name}: the provider accepts the access token`)
  return problem(`${name}: ${failed.step}: ${failed.message}`, fixOfStep(failed))
}

function fixOfStep({ field }: CheckStep): string {
  if (field === null) return 'The provider has an outage or throttles: check again later.'
  if (field === 'base_url')
    return 'Allow outgoing connections and DNS, or correct the provider URL under Settings, Channels.'
  const label = field.replaceAll('_', ' ')
  return `Correct the ${label} under Settings, Channels; docs/connect-a-number.md says where to find it.`
}

/** How far the provider's clock is ahead of the service's, or why that is not known. */
export async function readProviderDate({
  connections,
  reason,
}: ListedChannels): Promise<{ host: string; differenceMs: number } | string> {
  const real = connections.find(({ simulator }) => simulator === null)
  if (!real) return reason ?? 'no channel is connected to a provider'
  const http = createHttp({ connections: 1 })
  try {
    const { base_url, is_private } = real
    const answer = await http.request({ method: 'GET', url: base_url, timeoutMs: askMs, isPrivate: is_private })
    if (!answer.ok) return `${base_url}: ${answer.message}`
    const date = Date.parse(String(answer.headers.date))
    // The header has whole seconds.
    return Number.isNaN(date)
      ? 'it sends no date'
      : { host: new URL(base_url).host, differenceMs: date + 500 - nowMs() }
  } finally {
    void http.stop()
  }
}
