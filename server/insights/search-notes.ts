/**
 * Search in the notes of a workspace, newest first: those in threads and those about contacts.
 *
 * Members write few notes beside the messages, so they have no word index: the notes are read newest first and checked one by one, with
 * the rules of the search in messages. A search in very many notes stops at a time limit, and its cursor continues from there.
 */
import { memberName } from '../accounts/members.ts'
import { type ContactName, contactName } from '../contacts/contact-name.ts'
import type { ChannelName } from '../contacts/resource.ts'
import { isContactShown } from '../conversations/visible-step.ts'
import { encodeCursor, type Page, type Position } from '../lib/page.ts'
import type { Sql } from '../lib/postgres/db.ts'
import { createYielder } from '../lib/time.ts'
import { type Reader, restrictionOf, visibleTo } from '../teams/visibility.ts'
import { readQuery } from './search.ts'
import { excerpt, findTerms, maxSearchedLength } from './words.ts'

type FoundNote = {
  id: string
  snippet: string
  author: { name: string | null }
  contact: ContactName
  /** Null for a note about the contact. */
  conversation: { id: string; channel: ChannelName } | null
  created_at: string
}

type ReadNote = Pick<FoundNote, 'id' | 'created_at'> & {
  text: string
  member_id: string | null
  contact_id: string | null
  conversation_id: string | null
}

const chunkSize = 1_000
const timeoutMs = 1_000

/** Notes that contain every word of the query; the last word matches as a prefix. */
export async function searchNotes(
  sql: Sql,
  reader: Reader,
  query: string,
  { limit, before }: Position,
): Promise<Page<FoundNote>> {
  const { workspaceId } = reader
  const terms = readQuery(query)
  const found: (ReadNote & { snippet: string })[] = []
  const deadline = performance.now() + timeoutMs
  const yieldIfDue = createYielder()
  let below: string | undefined = terms.length > 0 ? before : undefined
  while (below !== undefined && found.length <= limit && performance.now() < deadline) {
    const notes: ReadNote[] = await readNotes(sql, reader, below)
    for (const note of notes) {
      const first = findTerms(note.text, terms)
      if (first !== undefined) found.push({ ...note, snippet: excerpt(note.text, first) })
      if (found.length > limit) break
      await yieldIfDue()
    }
    below = notes.length === chunkSize ? notes.at(-1)?.id : undefined
  }
  const shown = found.slice(0, limit)
  const nextId = found.length > limit ? shown.at(-1)?.id : below
  const data = await toNotes(sql, workspaceId, shown)
  return { data, meta: { next_cursor: nextId === undefined ? null : encodeCursor(nextId) } }
}

/** The next notes of both kinds, from their indexes by id. */
async function readNotes(sql: Sql, reader: Reader, before: string): Promise<ReadNote[]> {
  const { workspaceId } = reader
  const isRestricted = restrictionOf(reader) !== undefined
  return sql<ReadNote[]>`
    select id, text, created_at, member_id, contact_id, conversation_id
    from (
      (
        select e.id, left(e.text, ${maxSearchedLength}) as text, e.created_at, e.member_id, null::uuid as contact_id,
          e.conversation_id
        from timeline_entries e
        where e.workspace_id = ${workspaceId} and e.kind = 'note' and e.id < ${before}
          and ${
            isRestricted
              ? sql`exists (
            select from conversations v
            where v.workspace_id = e.workspace_id and v.id = e.conversation_id and ${visibleTo(sql, reader)}
          )`
              : sql`true`
          }
        order by e.id desc
        limit ${chunkSize}
      )
      union all
      (
        select n.id, left(n.text, ${maxSearchedLength}), n.created_at, n.member_id, n.contact_id, null
        from contact_notes n
        where n.workspace_id = ${workspaceId} and n.id < ${before}
          and ${isRestricted ? isContactShown(sql, reader, sql`n.contact_id`) : sql`true`}
        order by n.id desc
        limit ${chunkSize}
      )
    ) notes
    order by id desc
    limit ${chunkSize}`
}

async function toNotes(
  sql: Sql,
  workspaceId: string,
  notes: readonly (ReadNote & { snippet: string })[],
): Promise<FoundNote[]> {
  if (notes.length === 0) return []
  const input = notes.map(({ id, member_id, contact_id, conversation_id }) => ({
    id,
    member_id,
    contact_id,
    conversation_id,
  }))
  const rows = await sql<Omit<FoundNote, 'snippet' | 'created_at'>[]>`
    select i.id, json_build_object('name', ${memberName(sql, sql`m`)}) as author, ${contactName(sql)} as contact,
      case when v.id is not null then json_build_object('id', v.id, 'channel', v.channel) end as conversation
    from json_to_recordset(${JSON.stringify(input)}::text::json)
      as i (id uuid, member_id uuid, contact_id uuid, conversation_id uuid)
    left join conversations v on v.workspace_id = ${workspaceId} and v.id = i.conversation_id
    join contacts c on c.workspace_id = ${workspaceId} and c.id = coalesce(i.contact_id, v.contact_id)
    left join members m on m.workspace_id = ${workspaceId} and m.id = i.member_id`
  const byId = new Map(rows.map((row) => [row.id, row]))
  return notes.flatMap(({ id, snippet, created_at }) => {
    const row = byId.get(id)
    return row ? [{ ...row, snippet, created_at }] : []
  })
}
