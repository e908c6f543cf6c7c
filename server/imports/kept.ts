/** What an undo kept: the contacts that stay, with the reason. As pages and as a file. */
import { ContactName, contactName } from '../contacts/contact-name.ts'
import { byteOrderMark, writeRow } from '../lib/csv.ts'
import { type Page, type Position, toPage, top } from '../lib/page.ts'
import type { Sql } from '../lib/postgres/db.ts'
import { OneOf, type Static, Type } from '../lib/schema.ts'

const reasons = [
  'fields',
  'changed',
  'conversation',
  'note',
  'segment',
  'broadcast',
  'merge',
  'merged',
  'identity',
] as const

export const KeptSchema = Type.Object({
  contact: ContactName,
  reason: OneOf(reasons, {
    description: '`fields`: some fields changed again. Otherwise what has touched the contact since.',
  }),
  fields: Type.Array(Type.String(), { description: 'The fields that keep their values.' }),
})
type Kept = Static<typeof KeptSchema>

/** Newest contacts first. */
export async function listKept(
  sql: Sql,
  workspaceId: string,
  importId: string,
  { limit, before }: Position,
): Promise<Page<Kept & { id: string }>> {
  const rows = await sql<{ id: string; contact: Kept['contact']; kept: string }[]>`
    select c.id, ${contactName(sql)} as contact, ch.kept
    from contact_import_changes ch join contacts c on c.workspace_id = ch.workspace_id and c.id = ch.contact_id
    where ch.workspace_id = ${workspaceId} and ch.import_id = ${importId} and ch.kept is not null and ch.contact_id < ${before}
    order by ch.contact_id desc
    limit ${limit + 1}`
  return toPage(
    rows.map(({ id, contact, kept }) => ({ id, contact, ...readReason(kept) })),
    limit,
  )
}

function readReason(kept: string): Pick<Kept, 'reason' | 'fields'> {
  const [name, fields = ''] = kept.split(':')
  const reason = reasons.find((each) => each === name) ?? 'changed'
  return { reason, fields: reason === 'fields' ? fields.split(',') : [] }
}

const chunkSize = 1_000

/** All of them as CSV, a chunk whenever the reader can take one. */
export async function* writeKept(sql: Sql, workspaceId: string, importId: string): AsyncGenerator<string> {
  yield byteOrderMark + writeRow(['name', 'phone', 'email', 'reason', 'fields', 'contact_id'])
  for (let before: string | undefined = top; before; ) {
    const { data } = await listKept(sql, workspaceId, importId, { limit: chunkSize, before })
    const rows = data.map(({ contact, reason, fields }) =>
      writeRow([contact.name, contact.phone, contact.email, reason, fields.join(' '), contact.id]),
    )
    yield rows.join('')
    before = data.at(-1)?.id
  }
}
