/**
 * `POST /uploads` for members: stores the body as a file and returns its link, to be sent in a message. The member is
 * authenticated before the body is read. The body is streamed to the store.
 */

import { writers } from '../accounts/members.ts'
import { type Row, row } from '../accounts/table.ts'
import { leaveBodyUnread, takeFile, uploadTimeoutMs } from '../lib/http/file-body.ts'
import type { Db } from '../lib/postgres/db.ts'
import { NullableText, OneOf, Type } from '../lib/schema.ts'
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

export const uploadTable = ({ db, store, publicUrl }: { db: Db; store: Store; publicUrl: string }): readonly Row[] => [
  row({
    call: 'POST /uploads',
    members: writers,
    audit: false,
    isQuiet: true,
    takesFile: true,
    prepare: leaveBodyUnread,
    storeAnswer: false,
    handlerTimeout: uploadTimeoutMs,
    query: Type.Object({ filename: Type.Optional(Type.String({ maxLength: 1_000 })) }),
    data: UploadView,
    status: 201,
    run: async ({ raw, headers, caller, query }) => {
      const { path, ...upload } = await takeFile(raw, maxUploadBytes, (bytes) =>
        createUpload({ sql: db, store }, caller.workspaceId, {
          author: { id: caller.member.id, isVisitor: false },
          declaredType: headers['content-type'],
          filename: query.filename,
          bytes,
        }),
      )
      return { media_url: `${publicUrl}${path}`, ...upload }
    },
  }),
]
