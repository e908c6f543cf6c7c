/**
 * `POST /contacts/import`: a file in, lines of JSON out.
 *
 * The file is the body, as it is. What is wrong with the file as a whole is an
 * ordinary refusal; from then on the answer is a line for each chunk that is
 * done and a last one with what came of it, or with what went wrong. Whoever
 * hangs up stops the import after the chunk under way.
 *
 * Who it is, and whether they may, is asked before the body is read. A file is
 * in memory as long as it is imported, so a workspace imports one at a time.
 */

import { Readable } from 'node:stream'
import type { FastifyBaseLogger } from 'fastify'
import { managers } from '../accounts/members.ts'
import type { Signals } from '../accounts/signals.ts'
import type { Db } from '../lib/db.ts'
import { ApiError, badRequest, errorBody } from '../lib/errors.ts'
import { OneOf, Type } from '../lib/schema.ts'
import type { App } from '../lib/server.ts'
import { type Importing, importContacts } from './import.ts'
import { readImport } from './import-file.ts'

const maxMiB = 20
const maxBytes = maxMiB * 1024 * 1024

/** A hundred thousand rows take some 20 s, and longer where much else is going on. */
const importMs = 10 * 60_000

const faults: Record<string, string> = {
  FST_ERR_CTP_BODY_TOO_LARGE: `body: over ${maxMiB} MiB`,
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'content-type: must be text/csv',
}

/** Exactly one of them a line: `progress`, and at the end `data` or `error`. */
const ImportLine = Type.Object({
  progress: Type.Optional(Type.Object({ done: Type.Integer(), total: Type.Integer() })),
  data: Type.Optional(
    Type.Object({
      dry_run: Type.Boolean(),
      total: Type.Integer({ description: 'created + updated + unchanged + failed' }),
      created: Type.Integer(),
      updated: Type.Integer(),
      unchanged: Type.Integer(),
      failed: Type.Integer(),
      ignored_columns: Type.Array(Type.String()),
      failures: Type.Array(Type.Object({ line: Type.Integer(), reason: Type.String(), text: Type.String() }), {
        description: 'The first 1,000.',
      }),
    }),
  ),
  error: Type.Optional(Type.Object({ code: Type.String(), message: Type.String() })),
})

export type Wiring = {
  db: Db
  signals: Signals
}

export const importDashboard =
  ({ db, signals }: Wiring) =>
  async (app: App) => {
    const underWay = new Map<string, string>()
    const release = (workspaceId: string, requestId: string) => {
      if (underWay.get(workspaceId) === requestId) underWay.delete(workspaceId)
    }
    app.addContentTypeParser(['text/csv', 'text/plain'], { parseAs: 'buffer' }, (_request, body, done) =>
      done(null, body),
    )
    app.setErrorHandler<{ code?: string } & Error>((error) => {
      throw faults[error.code ?? ''] ? badRequest(faults[error.code ?? ''] ?? '') : error
    })
    app.post(
      '/contacts/import',
      {
        bodyLimit: maxBytes,
        handlerTimeout: importMs,
        config: {
          members: managers,
          audit: {
            action: 'contacts.imported',
            summary: ({ rows }: { rows: number }) => `${rows} rows`,
            when: ({ query }) => (query as { dry_run?: string }).dry_run !== 'true',
          },
          answers: ImportLine,
          takesFile: true,
          // The answer is a stream. Importing a file again changes nothing that is imported already.
          storeAnswer: false,
        },
        schema: { querystring: Type.Object({ dry_run: Type.Optional(OneOf(['true', 'false'])) }) },
        onRequest: async ({ session: { workspaceId }, id }, reply) => {
          if (underWay.has(workspaceId))
            throw new ApiError('rate_limited', 'another import of this workspace is under way; wait for its end')
          underWay.set(workspaceId, id)
          reply.raw.once('close', () => release(workspaceId, id))
        },
      },
      async (request, reply) => {
        const { session, id, query, body, log } = request
        const { workspaceId, defaultCountry } = session
        if (!Buffer.isBuffer(body)) throw badRequest('content-type: must be text/csv')
        const file = await readImport(body, defaultCountry)
        // A stream has no answer that the audit log could read.
        request.handlerResult = { data: { rows: file.rows.length } }
        const onCreated = () => {
          signals.deliveriesQueued()
          // Members see the contacts while the import runs.
          signals.changed(workspaceId)
        }
        const importing = { workspaceId, file, isDryRun: query.dry_run === 'true', onCreated }
        // Whoever has read the last line may begin the next import at once.
        const onEnd = () => release(workspaceId, id)
        reply.headers({ 'content-type': 'application/x-ndjson; charset=utf-8', 'x-content-type-options': 'nosniff' })
        return reply.send(Readable.from(toLines(db, importing, onEnd, log), { objectMode: false }))
      },
    )
  }

async function* toLines(
  db: Db,
  importing: Importing,
  onEnd: () => void,
  log: FastifyBaseLogger,
): AsyncGenerator<string> {
  const steps = importContacts(db, importing)
  let done = 0
  try {
    for (;;) {
      const step = await steps.next()
      if (step.done) {
        onEnd()
        return yield toLine({ data: step.value })
      }
      done = step.value.done
      yield toLine({ progress: step.value })
    }
  } catch (error) {
    log.error({ err: error }, 'an import broke off')
    const kept = importing.isDryRun ? '' : `; the first ${done} rows are imported, and the same file goes on from there`
    yield toLine(errorBody('internal', `something went wrong on our side${kept}`))
  }
}

const toLine = (line: object): string => `${JSON.stringify(line)}\n`
