/**
 * Exports contacts as CSV. Importing the file again changes nothing. Contacts without a phone number are included, but cannot be
 * imported. `username` is that of the social or of the primary channel.
 */
import { byteOrderMark, writeRow } from '../lib/csv.ts'
import type { Fragment } from '../lib/postgres/db.ts'
import type { SlowReads } from '../lib/postgres/slow-reads.ts'
import { readContactChunks } from './contacts.ts'
import { joinTags } from './tags.ts'

/** The number is not first: there it would need a guard (`writeRow`). */
const columns = [
  'name',
  'phone',
  'email',
  'company',
  'tags',
  'channels',
  'opted_out',
  'username',
  'created_at',
] as const

/** Rows per statement: bounds the memory of a download and the duration of a statement. */
const chunkSize = 1_000

/** The contacts `c` that meet a condition, newest first, a chunk whenever the reader can take one. */
export async function* writeContacts(
  slow: SlowReads,
  workspaceId: string,
  condition: Fragment,
): AsyncGenerator<string> {
  yield byteOrderMark + writeRow(columns)
  for await (const contacts of readContactChunks(slow, workspaceId, condition, chunkSize)) {
    const rows = contacts.map(({ phone, name, email, company, tags, channels, opted_out, created_at, ...contact }) =>
      writeRow([
        ...[name, phone, email, company, joinTags(tags.map((tag) => tag.name)), channels.join(';'), String(opted_out)],
        ...[contact.social_username ?? contact.username ?? null, created_at],
      ]),
    )
    yield rows.join('')
  }
}
