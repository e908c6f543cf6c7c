/**
 * `POST /uploads` for members: stores the body as a file and returns its link, to be sent in a message. The member is
 * authenticated before the body is read. The body is streamed to the store.
 */
import type { Db } from '../lib/db.ts'
import { DataOf, NullableText, OneOf, Type } from '../lib/schema.ts'
import type { App } from '../lib/server.ts'
import type { Store } from '../lib/store.ts'
import { leaveBodyUnread, takeFile, uploadTimeoutMs } from './file-body.ts'
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

export const uploadDashboard =
  ({ db, store, publicUrl }: { db: Db; store: Store; publicUrl: string }) =>
  async (app: App) => {
    leaveBodyUnread(app)
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
        const { path, ...upload } = await takeFile(raw, maxUploadBytes, (bytes) =>
          createUpload({ sql: db, store }, session.workspaceId, {
            author: { id: session.member.id, isVisitor: false },
            declaredType: headers['content-type'],
            filename: query.filename,
            bytes,
          }),
        )
        reply.code(201)
        return { data: { media_url: `${publicUrl}${path}`, ...upload } }
      },
    )
  }
