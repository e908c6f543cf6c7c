/**
 * The phone of a preview: what its customer writes and taps goes to the simulator, which calls our callback URL as the provider would.
 * The simulator accepts the calls because they have the token of the simulated account.
 */
import type { Connection } from '../channels/channel.ts'
import { getConnectionById } from '../channels/connections.ts'
import type { Sealer } from '../lib/crypto.ts'
import { ApiError } from '../lib/errors.ts'
import type { Http } from '../lib/http/client.ts'
import type { Sql } from '../lib/postgres/db.ts'

/** The customer of every preview. The number is reserved for fiction. */
const customer = { from: '+12025550143', name: 'Test customer' }

const timeoutMs = 10_000

type Tapped = { id: string; title: string; is_row?: boolean | undefined; reply_to?: string | undefined }

type Written = { text: string } | { button: Tapped }

/** `previewId`: of the hidden workspace and its connection. */
export type SimulatorClient = {
  /** Throws 502 when the simulator does not answer or does not know the number. */
  requireAnswer(previewId: string): Promise<void>
  /** Returns when the service has stored the message. */
  write(previewId: string, written: Written): Promise<void>
  createTemplate(previewId: string, template: object): Promise<void>
}

export function createSimulatorClient(sql: Sql, sealer: Sealer, http: Http): SimulatorClient {
  async function call(previewId: string, urlOf: (connection: Connection) => string, body?: object): Promise<Answer> {
    const connection = await getConnectionById(sql, sealer, previewId, previewId)
    if (!connection) throw unreachable('the preview has no number')
    const headers = { authorization: `Bearer ${connection.access_token}`, 'content-type': 'application/json' }
    const request = { url: urlOf(connection), headers, timeoutMs, isPrivate: true }
    const answer = await http.request(
      body ? { ...request, method: 'POST', body: JSON.stringify(body) } : { ...request, method: 'GET' },
    )
    if (!answer.ok) throw unreachable(answer.message)
    return { status: answer.status, body: answer.body }
  }
  const accountUrl = ({ base_url, api_version, account_id }: Connection) => `${base_url}/${api_version}/${account_id}`
  return {
    async requireAnswer(previewId) {
      const answer = await call(previewId, (connection) => `${accountUrl(connection)}?fields=id`)
      if (answer.status !== 200) throw unreachable(describe(answer))
    },
    async write(previewId, written) {
      const url = ({ base_url }: Connection) => `${base_url.replace(/\/graph$/, '')}/control/inbound`
      const address = { workspace_id: previewId, connection_id: previewId, ...customer }
      const answer = await call(previewId, url, { ...address, ...toMessage(written) })
      if (answer.status >= 300) throw unreachable(describe(answer))
    },
    async createTemplate(previewId, template) {
      await call(previewId, (connection) => `${accountUrl(connection)}/message_templates`, template)
    },
  }
}

function toMessage(written: Written): object {
  if ('text' in written) return { type: 'text', text: written.text }
  const { id, title, is_row, reply_to } = written.button
  return { type: is_row ? 'list' : 'button', button: { id, title }, reply_to }
}

type Answer = { status: number; body: Buffer }

function describe({ status, body }: Answer): string {
  try {
    const { error } = JSON.parse(body.toString()) as { error?: { message?: string } }
    return error?.message ?? `status ${status}`
  } catch {
    return `status ${status}`
  }
}

const unreachable = (reason: string): ApiError =>
  new ApiError('platform_error', `the simulator does not answer: ${reason}. It runs while the service runs with DEMO=1`)
