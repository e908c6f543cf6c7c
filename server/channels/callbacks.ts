/**
 * `/channels/{channel}/{connection id}`: callbacks of the providers.
 *
 * The flow, file by file: `callbacks.ts` (HTTP, signature) → the adapter's `parse`, for example `msgapp/parse.ts` →
 * `messages/receiving/`: `intake.ts` (calls the code for each kind of report) → `inbound.ts`, `store-inbound.ts` (customers' messages), `reports.ts`
 * (statuses, edits, read marks), `echoes.ts` (messages from the provider's own app) → `early-reports.ts` (reports about unknown
 * messages) → 200.
 *
 * The connection's id names the workspace. The signature over the raw bytes authenticates the provider. A signed callback
 * is answered 200 after everything in it is committed. An unreadable one also gets 200, because the provider would repeat
 * it for days: it is logged and counted. One with more reports than a provider sends is refused as a whole: nothing of it is lost,
 * because the provider repeats what gets no 200.
 */
import type { ChannelName } from '../contacts/resource.ts'
import type { Sealer } from '../lib/crypto.ts'
import { ApiError, badRequest, errorBody, notFound } from '../lib/errors.ts'
import { hasTooManyValues } from '../lib/http/json.ts'
import type { App } from '../lib/http/server.ts'
import type { Db } from '../lib/postgres/db.ts'
import { Type } from '../lib/schema.ts'
import type { Channel, Report } from './channel.ts'
import { recordCallback } from './connection-outcomes.ts'
import { type CallbackConnection, createConnectionReader } from './connections.ts'
import { isCheckChallenge } from './signature.ts'

export type CallbackOptions = {
  db: Db
  sealer: Sealer
  channels: Record<ChannelName, Channel>
  /** Stores and applies all reports of a callback (`messages/receiving/intake.ts`). */
  intake: { take(connection: CallbackConnection, reports: readonly Report[]): Promise<void> }
  /** Counts a callback once for each outcome of its reports. */
  count: (outcome: CallbackOutcome) => void
}

/** `taken`: a report was processed. `ignored`: a report is not used. `malformed`: a report is unreadable. */
export const callbackOutcomes = ['taken', 'ignored', 'malformed', 'unsigned'] as const
type CallbackOutcome = (typeof callbackOutcomes)[number]

/** Providers send up to 3 MB. */
const bodyLimit = 4 * 1024 * 1024
/** Providers send up to 1,000. 3 MB of statuses would have about 8,500. */
const maxReports = 10_000

const Params = Type.Object({ channel: Type.String(), id: Type.String() })

export const callbackRoutes =
  ({ db, sealer, channels, intake, count }: CallbackOptions) =>
  async (app: App) => {
    // The signature covers the raw bytes, so the body is not parsed by its content type.
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit }, (_request, body, done) => done(null, body))

    const readConnection = createConnectionReader(db, sealer)
    const requireConnection = async ({ channel, id }: { channel: string; id: string }) => {
      const connection = await readConnection(id)
      if (!connection || connection.channel !== channel || channel === 'web') throw notFound('connection')
      return { connection, adapter: channels[connection.channel] }
    }

    app.get('/channels/:channel/:id', { schema: { params: Params } }, async ({ params, query }, reply) => {
      const { connection, adapter } = await requireConnection(params)
      const challenge = adapter.answerHandshake(connection, query as Record<string, unknown>)
      if (challenge === undefined) {
        return reply.code(403).send(errorBody('forbidden', 'hub.verify_token: does not match this connection'))
      }
      // A check by the operator is not the provider's.
      if (!isCheckChallenge(challenge)) await recordCallback(db, connection, 'verified')
      return reply.type('text/plain; charset=utf-8').header('x-content-type-options', 'nosniff').send(challenge)
    })

    app.post('/channels/:channel/:id', { schema: { params: Params }, bodyLimit }, async (request) => {
      const { connection, adapter } = await requireConnection(request.params)
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
      if (!adapter.isSigned(connection, { headers: request.headers, body })) {
        count('unsigned')
        throw new ApiError('unauthorized', 'X-Hub-Signature-256: does not match the body')
      }
      await recordCallback(db, connection, 'received')
      const context = { channel: connection.channel, workspace: connection.workspace_id }
      const refuse = (what: string) => {
        count('malformed')
        return badRequest(`body: more ${what} than a callback has`)
      }
      if (hasTooManyValues(body)) throw refuse('values')
      let payload: unknown
      try {
        payload = JSON.parse(body.toString('utf8'))
      } catch {
        count('malformed')
        request.log.warn(context, 'a signed callback is not JSON')
        return { data: { taken: 0 } }
      }
      const reports = adapter.parse(connection, payload)
      if (reports.length > maxReports) throw refuse('reports')
      await intake.take(connection, reports)
      new Set(reports.map(outcomeOf)).forEach(count)
      return { data: { taken: reports.filter((report) => outcomeOf(report) === 'taken').length } }
    })
  }

function outcomeOf({ kind }: Report): CallbackOutcome {
  if (kind === 'foreign') return 'ignored'
  return kind === 'ignored' || kind === 'malformed' ? kind : 'taken'
}
