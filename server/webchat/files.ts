/**
 * `POST /web-chat/{site id}/files`: stores a file of a visitor, to be sent with a message. The body is the file. The token is
 * checked and the file counted before the body is read.
 */
import type { FastifyRequest } from 'fastify'
import { networkOf } from '../lib/http/client-address.ts'
import { createOpenLimits } from '../lib/http/event-stream.ts'
import { leaveBodyUnread, takeFile, uploadTimeoutMs } from '../lib/http/file-body.ts'
import type { App } from '../lib/http/server.ts'
import type { Db } from '../lib/postgres/db.ts'
import { DataOf, NullableText, OneOf, Type } from '../lib/schema.ts'
import type { Store } from '../lib/store.ts'
import { createUpload } from '../media/uploads.ts'
import { maxVisitorBytes } from '../media/visitor-files.ts'
import { countFile } from './visitors.ts'

export type VisitorFileOptions = {
  db: Db
  store: Store
  /** The visitor of the request's token. Throws 401. */
  requireVisitor: (request: FastifyRequest) => string
}

/** Files that are received at the same time: each holds a connection for as long as its client is slow. */
const filesPerVisitor = 3
const filesPerNetwork = 20
const maxFiles = 100

const VisitorFile = Type.Object({
  file: Type.String({ description: 'The `file` of the message to send it with, within an hour.' }),
  type: OneOf(['image', 'video', 'audio', 'document']),
  filename: NullableText(),
  size_bytes: Type.Integer(),
})

export const visitorFileRoutes =
  ({ db, store, requireVisitor }: VisitorFileOptions) =>
  async (app: App) => {
    const open = createOpenLimits(maxFiles, 'uploads')
    leaveBodyUnread(app)
    app.addHook('onRequest', async (request, reply) => {
      if (request.method !== 'POST') return
      const visitorId = requireVisitor(request)
      const network = networkOf(request.clientAddress)
      open.enter(reply, [
        { key: visitorId, most: filesPerVisitor },
        { key: network, most: filesPerNetwork },
      ])
      await countFile(db, request.visit.site.id, visitorId, request.clientAddress)
    })
    app.post(
      '/web-chat/:site_id/files',
      {
        handlerTimeout: uploadTimeoutMs,
        config: { takesFile: true },
        schema: {
          params: Type.Object({ site_id: Type.String() }),
          querystring: Type.Object({ filename: Type.Optional(Type.String({ maxLength: 1_000 })) }),
          response: { 201: DataOf(VisitorFile) },
        },
      },
      async (request, reply) => {
        const { raw, headers, query, visit } = request
        const author = { id: requireVisitor(request), isVisitor: true }
        const { token, type, filename, size_bytes } = await takeFile(raw, maxVisitorBytes, (bytes) =>
          createUpload({ sql: db, store }, visit.site.workspace_id, {
            author,
            declaredType: headers['content-type'],
            filename: query.filename,
            bytes,
          }),
        )
        reply.code(201)
        return { data: { file: token, type, filename, size_bytes } }
      },
    )
  }
