/**
 * `POST /uploads`: a member's file, as the bytes of the body, to be sent later
 * by the link it gets. Who calls is known before a byte is read, and the bytes
 * go through to the store without being gathered.
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
    media_url: Type.String({ description: 'What a message names as its `media_url`; gone after a day unless sent.' }),
    type: OneOf(['image', 'video', 'audio', 'document'], { description: 'What the message is to be of.' }),
    mime_type: Type.String(),
    filename: NullableText(),
    size_bytes: Type.Integer(),
  },
  { title: 'Upload' },
)

/** 16 MiB at a quarter of a Mbit/s. */
const uploadMs = 10 * 60_000

export const uploadDashboard =
  ({ db, store, publicUrl }: { db: Db; store: Store; publicUrl: string }) =>
  async (app: App) => {
    // Here alone: a body of any type, left where it is.
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', (_request, _payload, done) => done(null))
    app.post(
      '/uploads',
      {
        handlerTimeout: uploadMs,
        // The body is not read before the handler runs, so it cannot be compared with that of an earlier request.
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
        // The bytes are stored as they arrive.
        if (!/^(identity)?$/i.test(headers['content-encoding'] ?? '')) {
          throw badRequest('content-encoding: a file must not be compressed')
        }
        const bytes = bodyOf(raw)
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

/** The body as a stream of its own: whoever gives it up early lets the rest run off, and the line lives to answer. */
function bodyOf(raw: IncomingMessage): Readable {
  const bytes = new PassThrough()
  const breakOff = () => {
    if (!raw.complete) bytes.destroy(new Error('the line broke'))
  }
  bytes.on('error', () => {})
  bytes.once('close', () => {
    raw.unpipe(bytes)
    raw.resume()
  })
  raw.once('error', breakOff)
  raw.once('close', breakOff)
  raw.pipe(bytes)
  return bytes
}
