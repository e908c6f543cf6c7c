/**
 * `/imports`: contacts from files, for owners and admins. A file is uploaded, its columns are mapped, it is checked, and then imported;
 * the import can be undone for a week. A worker does the work, so every call answers at once.
 */
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { managers } from '../accounts/members.ts'
import { type Row, row } from '../accounts/table.ts'
import { delimiters } from '../lib/csv-format.ts'
import { badRequest } from '../lib/errors.ts'
import { leaveBodyUnread, takeFile } from '../lib/http/file-body.ts'
import { readPosition } from '../lib/page.ts'
import type { Db } from '../lib/postgres/db.ts'
import { IdParams, ListQuery, OneOf, Type, Uuid } from '../lib/schema.ts'
import type { Store } from '../lib/store.ts'
import type { Signals } from '../signals/signals.ts'
import {
  cancelImport,
  changeDelimiter,
  createImport,
  maxFileBytes,
  requestCheck,
  requestStart,
  requestUndo,
} from './imports.ts'
import { KeptSchema, listKept, writeKept } from './kept.ts'
import { TargetSchema } from './mapping.ts'
import { writeRejects } from './rejects.ts'
import { ImportSchema, ImportSummary, listImports, OptionsSchema, requireHeader, requireImport } from './resource.ts'

/** 100 MiB at 0.5 Mbit/s. */
const uploadTimeoutMs = 30 * 60_000
const downloadTimeoutMs = 10 * 60_000

/** A column more than a file may have, so that the message of the mapping explains it. */
const maxTargets = 1_001

export function importTable({ db, store, signals }: { db: Db; store: Store; signals: Signals }): readonly Row[] {
  const context = { db, store }
  return [
    row({
      call: 'POST /imports',
      members: managers,
      audit: 'import.uploaded',
      takesFile: true,
      prepare: leaveBodyUnread,
      // The body is not in memory. A repeated upload is another file.
      storeAnswer: false,
      handlerTimeout: uploadTimeoutMs,
      query: Type.Object({ filename: Type.Optional(Type.String({ maxLength: 1_000 })) }),
      data: ImportSchema,
      status: 201,
      run: async ({ raw, headers, caller, query }) => {
        if (!/^text\/(csv|plain)(;|$)/i.test(headers['content-type'] ?? '')) {
          throw badRequest('content-type: must be text/csv')
        }
        const { workspaceId, defaultCountry: country, member } = caller
        const id = await takeFile(raw, maxFileBytes, (bytes) =>
          createImport(context, workspaceId, { memberId: member.id, country, filename: query.filename, bytes }),
        )
        return requireImport(db, workspaceId, id)
      },
    }),
    row({
      call: 'GET /imports',
      members: managers,
      query: ListQuery({}),
      list: ImportSummary,
      run: ({ caller, query }) => listImports(db, caller.workspaceId, readPosition(query)),
    }),
    row({
      call: 'GET /imports/:id',
      members: managers,
      params: IdParams,
      data: ImportSchema,
      run: ({ caller, params }) => requireImport(db, caller.workspaceId, params.id),
    }),
    row({
      call: 'PATCH /imports/:id',
      members: managers,
      audit: 'import.changed',
      params: IdParams,
      body: Type.Object({ delimiter: OneOf(delimiters) }),
      data: ImportSchema,
      run: async ({ caller: { workspaceId, defaultCountry: country }, params: { id }, body: { delimiter } }) => {
        await changeDelimiter(context, workspaceId, id, { delimiter, country })
        return requireImport(db, workspaceId, id)
      },
    }),
    row({
      call: 'POST /imports/:id/check',
      members: managers,
      audit: 'import.checked',
      params: IdParams,
      body: Type.Object({
        mapping: Type.Array(TargetSchema, { maxItems: maxTargets }),
        options: Type.Optional(OptionsSchema),
        save_mapping: Type.Optional(Type.Boolean()),
      }),
      data: ImportSchema,
      run: async ({ caller, params, body }) => {
        await requestCheck(db, caller.workspaceId, params.id, caller.defaultCountry, body)
        signals.importReady()
        return requireImport(db, caller.workspaceId, params.id)
      },
    }),
    row({
      call: 'POST /imports/:id/start',
      members: managers,
      audit: 'import.started',
      params: IdParams,
      data: ImportSchema,
      run: async ({ caller, params }) => {
        await requestStart(db, caller.workspaceId, params.id)
        signals.importReady()
        return requireImport(db, caller.workspaceId, params.id)
      },
    }),
    row({
      call: 'POST /imports/:id/undo',
      members: managers,
      audit: 'import.undone',
      params: IdParams,
      data: ImportSchema,
      run: async ({ caller, params }) => {
        await requestUndo(db, caller.workspaceId, params.id)
        signals.importReady()
        return requireImport(db, caller.workspaceId, params.id)
      },
    }),
    row({
      call: 'DELETE /imports/:id',
      members: managers,
      audit: 'import.deleted',
      params: IdParams,
      data: Type.Object({
        id: Uuid,
        deleted: Type.Boolean({ description: 'False: it was running and is canceled; what it imported stays.' }),
      }),
      run: ({ caller, params }) => cancelImport(context, caller.workspaceId, params.id),
    }),
    row({
      call: 'GET /imports/:id/rejected.csv',
      members: managers,
      audit: 'import.exported',
      handlerTimeout: downloadTimeoutMs,
      params: IdParams,
      run: async ({ caller: { workspaceId }, params: { id } }, reply) => {
        const header = await requireHeader(db, workspaceId, id)
        return sendCsv(reply, 'rejected-rows.csv', writeRejects(db, workspaceId, id, header))
      },
    }),
    row({
      call: 'GET /imports/:id/kept',
      members: managers,
      params: IdParams,
      query: ListQuery({}),
      list: KeptSchema,
      run: async ({ caller: { workspaceId }, params: { id }, query }) => {
        await requireHeader(db, workspaceId, id)
        return listKept(db, workspaceId, id, readPosition(query))
      },
    }),
    row({
      call: 'GET /imports/:id/kept.csv',
      members: managers,
      audit: 'import.exported',
      handlerTimeout: downloadTimeoutMs,
      params: IdParams,
      run: async ({ caller: { workspaceId }, params: { id } }, reply) => {
        await requireHeader(db, workspaceId, id)
        return sendCsv(reply, 'kept-contacts.csv', writeKept(db, workspaceId, id))
      },
    }),
  ]
}

function sendCsv(reply: FastifyReply, filename: string, lines: AsyncGenerator<string>): FastifyReply {
  reply.headers({
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="${filename}"`,
    'x-content-type-options': 'nosniff',
  })
  return reply.send(Readable.from(lines, { objectMode: false }))
}
