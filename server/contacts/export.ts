/**
 * People as a table to take away, and to bring back: imported again it changes
 * nothing. Whoever has no phone number is in it as well, and cannot be brought
 * back that way.
 */
import { byteOrderMark, writeRow } from '../lib/csv.ts'
import type { Fragment, Sql } from '../lib/db.ts'
import { readContacts } from './contacts.ts'
import { joinTags } from './import-file.ts'

const columns = ['phone', 'name', 'email', 'company', 'tags', 'channels', 'opted_out', 'created_at'] as const

/** Rows at a time: what is in memory for somebody who downloads, and how long a statement takes. */
const chunkSize = 1_000

/** The contacts `c` that meet a condition, newest first, a chunk whenever there is room for one. */
export async function* writeContacts(sql: Sql, workspaceId: string, condition: Fragment): AsyncGenerator<string> {
  yield byteOrderMark + writeRow(columns)
  for await (const contacts of readContacts(sql, workspaceId, condition, chunkSize)) {
    const rows = contacts.map(({ phone, name, email, company, tags, channels, opted_out_at, created_at }) =>
      writeRow([
        ...[phone, name, email, company, joinTags(tags.map((tag) => tag.name))],
        ...[channels.join(';'), String(opted_out_at !== null), created_at],
      ]),
    )
    yield rows.join('')
  }
}
