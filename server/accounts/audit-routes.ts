/** `/audit`: the audit log for owners and admins, as pages and as a CSV file. */
import { Readable } from 'node:stream'
import { byteOrderMark, writeRow } from '../lib/csv.ts'
import { readPosition, top } from '../lib/page.ts'
import type { Db } from '../lib/postgres/db.ts'
import { DateTime, ListQuery, NullableText, Type, Uuid } from '../lib/schema.ts'
import { type AuditFilter, listEntries, type NameSubjects, readFilter } from './audit.ts'
import { managers } from './members.ts'
import { type Row, row } from './table.ts'

const EntryView = Type.Object({
  id: Uuid,
  at: DateTime,
  action: Type.String(),
  member: Type.Object({ id: Uuid, email: Type.String(), name: NullableText() }),
  subject_id: NullableText({ format: 'uuid' }),
  subject_name: NullableText({
    description:
      'The current name of the conversation’s or contact’s customer. The log itself has no data of customers.',
  }),
  summary: NullableText(),
})

const filters = {
  member_id: Type.Optional(Type.String({ maxLength: 100, description: 'Only entries of this member.' })),
  object: Type.Optional(
    Type.String({ maxLength: 40, description: 'Only actions on this kind of object: `broadcast`.' }),
  ),
  day: Type.Optional(Type.String({ maxLength: 20, description: 'Only this day, in the time zone of the workspace.' })),
}

const columns = ['at', 'member', 'email', 'action', 'subject_id', 'subject_name', 'summary']
const chunkSize = 1_000
const downloadMs = 10 * 60_000

export const auditTable = (db: Db, nameSubjects: NameSubjects): readonly Row[] => [
  row({
    call: 'GET /audit',
    members: managers,
    query: ListQuery(filters),
    list: EntryView,
    run: async ({ caller: { workspaceId }, query }) =>
      listEntries(db, workspaceId, nameSubjects, await readFilter(db, workspaceId, query), readPosition(query)),
  }),
  row({
    call: 'GET /audit.csv',
    members: managers,
    audit: { action: 'audit.exported' },
    handlerTimeout: downloadMs,
    query: Type.Object(filters),
    run: async ({ caller: { workspaceId }, query }, reply) => {
      const filter = await readFilter(db, workspaceId, query)
      reply.headers({
        'content-type': 'text/csv; charset=utf-8',
        'content-disposition': 'attachment; filename="audit-log.csv"',
        'x-content-type-options': 'nosniff',
      })
      return reply.send(Readable.from(writeEntries(db, workspaceId, nameSubjects, filter), { objectMode: false }))
    },
  }),
]

/** Newest first, a chunk whenever the reader can take one. */
async function* writeEntries(
  db: Db,
  workspaceId: string,
  nameSubjects: NameSubjects,
  filter: AuditFilter,
): AsyncGenerator<string> {
  yield byteOrderMark + writeRow(columns)
  for (let before: string | undefined = top; before; ) {
    const { data, meta } = await listEntries(db, workspaceId, nameSubjects, filter, { limit: chunkSize, before })
    const rows = data.map(({ at, member, action, subject_id, subject_name, summary }) =>
      writeRow([at, member.name, member.email, action, subject_id, subject_name, summary]),
    )
    yield rows.join('')
    before = meta.next_cursor === null ? undefined : data.at(-1)?.id
  }
}
