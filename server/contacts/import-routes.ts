/**
 * `POST /contacts/import`: a CSV file in, lines of JSON out.
 *
 * The file is the request body. An error of the file as a whole is an ordinary error response. Otherwise the response has a
 * line for each chunk that is done, and a last line with the result or the error. A client that disconnects stops the import
 * after the current chunk.
 *
 * Session and role are checked before the body is read. The file is in memory during the import, so a workspace runs one
 * import at a time, and a process two.
 */

import { Readable } from 'node:stream'
import type { FastifyBaseLogger } from 'fastify'
import { managers } from '../accounts/members.ts'
import { type Row, row } from '../accounts/table.ts'
import { ApiError, badRequest, errorBody } from '../lib/errors.ts'
import type { App } from '../lib/http/server.ts'
import type { Db } from '../lib/postgres/db.ts'
import { outageMessages, outageOf } from '../lib/process/outage.ts'
import { OneOf, Type } from '../lib/schema.ts'
import type { Signals } from '../signals/signals.ts'
import { type ImportContext, importContacts } from './import.ts'
import { readImport } from './import-file.ts'

const maxMiB = 20
const maxBytes = maxMiB * 1024 * 1024

/** In one process. Each needs up to 100 MB. */
const maxImports = 2

/** 100,000 rows take about 20 s, and longer on a busy machine. */
const importMs = 10 * 60_000

const errorMessages: Record<string, string> = {
  FST_ERR_CTP_BODY_TOO_LARGE: `body: must have at most ${maxMiB} MiB`,
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'content-type: must be text/csv',
}

/** Each line has exactly one of these: `progress`, and at the end `data` or `error`. */
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
        description: 'The first 1,000 failures.',
      }),
    }),
  ),
  error: Type.Optional(Type.Object({ code: Type.String(), message: Type.String() })),
})

export function importTable({ db, signals }: { db: Db; signals: Signals }): readonly Row[] {
  const runningImports = new Map<string, string>()
  const release = (workspaceId: string, requestId: string) => {
    if (runningImports.get(workspaceId) === requestId) runningImports.delete(workspaceId)
  }
  return [
    row({
      call: 'POST /contacts/import',
      members: managers,
      audit: {
        action: 'contacts.imported',
        summary: ({ rows }: { rows: number }) => `${rows} rows`,
        when: ({ query }) => (query as { dry_run?: string }).dry_run !== 'true',
      },
      answers: ImportLine,
      takesFile: true,
      // The response is a stream. Importing the file again does not change rows that are imported already.
      storeAnswer: false,
      bodyLimit: maxBytes,
      handlerTimeout: importMs,
      query: Type.Object({ dry_run: Type.Optional(OneOf(['true', 'false'])) }),
      prepare: readFiles,
      onRequest: async ({ caller, id }, reply) => {
        const workspaceId = caller?.workspaceId ?? ''
        if (runningImports.has(workspaceId))
          throw new ApiError('rate_limited', 'another import of this workspace is running; wait until it ends')
        if (runningImports.size >= maxImports)
          throw new ApiError('rate_limited', 'too many imports are running; try again in a minute', {
            'retry-after': '60',
          })
        runningImports.set(workspaceId, id)
        reply.raw.once('close', () => release(workspaceId, id))
      },
      run: async (request, reply) => {
        const { caller, id, query, body, log } = request
        const { workspaceId, defaultCountry } = caller
        if (!Buffer.isBuffer(body)) throw badRequest('content-type: must be text/csv')
        const file = await readImport(body, defaultCountry)
        // The audit log cannot read a streamed response.
        request.handlerResult = { data: { rows: file.rows.length } }
        const onCreated = () => {
          signals.deliveriesQueued()
          // Members see the contacts while the import runs.
          signals.changed(workspaceId)
        }
        const context = { workspaceId, file, isDryRun: query.dry_run === 'true', onCreated }
        // A client that has read the last line may start the next import at once.
        const onEnd = () => release(workspaceId, id)
        reply.headers({ 'content-type': 'application/x-ndjson; charset=utf-8', 'x-content-type-options': 'nosniff' })
        return reply.send(Readable.from(toLines(db, context, onEnd, log), { objectMode: false }))
      },
    }),
  ]
}

function readFiles(app: App): void {
  app.addContentTypeParser(['text/csv', 'text/plain'], { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  )
  app.setErrorHandler<{ code?: string } & Error>((error) => {
    throw errorMessages[error.code ?? ''] ? badRequest(errorMessages[error.code ?? ''] ?? '') : error
  })
}

async function* toLines(
  db: Db,
  context: ImportContext,
  onEnd: () => void,
  log: FastifyBaseLogger,
): AsyncGenerator<string> {
  const steps = importContacts(db, context)
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
    log.error({ err: error }, 'an import failed')
    const progress = context.isDryRun ? '' : `; the first ${done} rows are imported, and the same file continues there`
    const outage = outageOf(error)
    yield toLine(
      errorBody('internal', `${outage ? outageMessages[outage] : 'something went wrong on our side'}${progress}`),
    )
  }
}

const toLine = (line: object): string => `${JSON.stringify(line)}\n`
