/**
 * `POST /uploads` for members: stores the body as a file and returns its link, to be sent in a message. The member is
 * authenticated before the body is read. The body is streamed to the store.
 */
import type { IncomingMessage } from 'node:http'
import { PassThrough, type Readable } from 'node:stream'
import type { Db } from '../lib/db.ts'
import { badRequest } from '../lib/errors.ts'
import { DataOf, NullableText, OneOf, Type } from '../lib/schema.ts'
import type { App } from '../lib/server.ts'
import type { Store } from '../lib/store.ts'
import { createUpload, maxUploadBytes } from './uploads.ts'

const UploadView = Type.Object(
  {
    media_url: Type.String({
      description: 'The `media_url` for a message. The file is deleted after a day unless it is sent.',
    }),
    type: OneOf(['image', 'video', 'audio', 'document'], { description: 'The type of the message to send it with.' }),
    mime_type: Type.String(),
    filename: NullableText(),
    size_bytes: Type.Integer(),
  },
  { title: 'Upload' },
)

/** 16 MiB at 0.25 Mbit/s. */
const uploadTimeoutMs = 10 * 60_000

export const uploadDashboard =
  ({ db, store, publicUrl }: { db: Db; store: Store; publicUrl: string }) =>
  async (app: App) => {
    // In this plugin only: accept any content type and leave the body unread.
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', (_request, _payload, done) => done(null))
    app.post(
      '/uploads',
      {
        handlerTimeout: uploadTimeoutMs,
        // The body is not read before the handler runs, so it cannot be compared with an earlier request.
        config: { audit: false, isQuiet: true, takesFile: true, storeAnswer: false },
        schema: {
          querystring: Type.Object({ filename: Type.Optional(Type.String({ maxLength: 1_000 })) }),
          response: { 201: DataOf(UploadView) },
        },
      },
      async ({ raw, headers, session, query }, reply) => {
        if (Number(headers['content-length'] ?? 0) > maxUploadBytes) {
          throw badRequest(`body: a file may have at most ${maxUploadBytes / 1024 / 1024} MiB`)
        }
        // The body is stored as it arrives.
        if (!/^(identity)?$/i.test(headers['content-encoding'] ?? '')) {
          throw badRequest('content-encoding: the body must not be compressed')
        }
        const bytes = toStream(raw)
        try {
          const { path, ...upload } = await createUpload({ sql: db, store }, session.workspaceId, {
            memberId: session.member.id,
            declaredType: headers['content-type'],
            filename: query.filename,
            bytes,
          })
          reply.code(201)
          return { data: { media_url: `${publicUrl}${path}`, ...upload } }
        } finally {
          bytes.destroy()
        }
      },
    )
  }

/** The body as a separate stream. Destroying it early discards the rest of the body and keeps the connection usable. */
function toStream(raw: IncomingMessage): Readable {
  const bytes = new PassThrough()
  const onLost = () => {
    if (!raw.complete) bytes.destroy(new Error('the connection was lost'))
  }
  bytes.on('error', () => {})
  bytes.once('close', () => {
    raw.unpipe(bytes)
    raw.resume()
  })
  raw.once('error', onLost)
  raw.once('close', onLost)
  raw.pipe(bytes)
  return bytes
}
