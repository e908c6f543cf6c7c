/**
 * The word index of messages.
 *
 * The messages of a workspace are divided by id into slices of about 25,000. A word is stored with its slice's number as a
 * prefix: `17.order`. So an index lookup reads one slice of one workspace only, also for the prefix of a word, however many
 * messages contain it elsewhere. New entries are adjacent in the index, so a write costs the same at ten million messages
 * as at ten thousand. A search goes from slice to slice, newest first: a common word fills its page from the first slice, a
 * rare word costs some microseconds per slice.
 *
 * Only the digest writes these tables.
 */
import type { Sql } from '../lib/postgres/db.ts'
import { createYielder } from '../lib/time.ts'
import type { Message } from '../messages/resource.ts'
import { listWords, maxSearchedLength, type Term } from './words.ts'

/** A larger slice makes common words slower, a smaller one rare words. */
const sliceSize = 25_000
/** Only this many different words of a text are indexed. */
const maxWords = 1_000

export type IndexableMessage = {
  workspace_id: string
  conversation_id: string
  id: string
  /** The searched beginning. */
  content_text: string | null
}

type Slice = {
  workspace_id: string
  from_id: string
  slice: number
  last_id: string
  message_count: number
}

/** Below every id: the first slice also holds late messages with older ids. */
const bottom = '00000000-0000-0000-0000-000000000000'

/** Indexes new messages, which must be in the order of their ids. Returns the new number of slices. */
export async function addWords(sql: Sql, messages: readonly IndexableMessage[], sliceCount: number): Promise<number> {
  const newest = await findNewestSlices(sql, [...new Set(messages.map(({ workspace_id }) => workspace_id))])
  const late = messages.filter(({ workspace_id, id }) => id < (newest.get(workspace_id)?.from_id ?? bottom))
  const lateSlices = await findSlices(sql, late)
  const changed = new Set<Slice>()
  let count = sliceCount
  const rows: WordRow[] = []
  const yieldIfDue = createYielder()
  for (const message of messages) {
    await yieldIfDue()
    const { workspace_id, id } = message
    const lateSlice = lateSlices.get(id)
    if (lateSlice !== undefined) {
      rows.push(toRow(message, lateSlice))
      continue
    }
    let slice = newest.get(workspace_id)
    // A new slice starts above every id of this one, so slices do not overlap.
    if (!slice || (slice.message_count >= sliceSize && id > slice.last_id)) {
      slice = { workspace_id, from_id: slice ? id : bottom, slice: ++count, last_id: id, message_count: 0 }
      newest.set(workspace_id, slice)
    }
    slice.message_count++
    if (id > slice.last_id) slice.last_id = id
    changed.add(slice)
    rows.push(toRow(message, slice.slice))
  }
  await sql`
    insert into message_words (workspace_id, conversation_id, id, words)
    select workspace_id, conversation_id, id, array_to_tsvector(words)
    from json_to_recordset(${JSON.stringify(rows)}::text::json)
      as i (workspace_id uuid, conversation_id uuid, id uuid, words text[])`
  await sql`
    insert into message_slices as s (workspace_id, from_id, slice, last_id, message_count)
    select workspace_id, from_id, slice, last_id, message_count
    from json_to_recordset(${JSON.stringify([...changed])}::text::json)
      as i (workspace_id uuid, from_id uuid, slice int, last_id uuid, message_count int)
    on conflict (workspace_id, from_id) do update set
      last_id = excluded.last_id, message_count = excluded.message_count`
  await mergePendingWords(sql)
  return count
}

/**
 * The index collects the words of inserted rows in a list and merges them all at once, so each word is looked up once per
 * batch instead of once per message: 45 µs instead of 140 µs a message. Searches read the list as well, so it is merged at once.
 */
async function mergePendingWords(sql: Sql): Promise<void> {
  await sql`select gin_clean_pending_list('message_words_by_word')`
}

/** Updates the words of indexed messages whose text changed. */
export async function updateWords(sql: Sql, messages: readonly IndexableMessage[]): Promise<void> {
  if (messages.length === 0) return
  const slices = await findSlices(sql, messages)
  const rows: WordRow[] = []
  const yieldIfDue = createYielder()
  for (const message of messages) {
    await yieldIfDue()
    rows.push(toRow(message, slices.get(message.id) ?? 0))
  }
  await sql`
    update message_words w set words = array_to_tsvector(i.words)
    from json_to_recordset(${JSON.stringify(rows)}::text::json)
      as i (workspace_id uuid, conversation_id uuid, id uuid, words text[])
    where w.workspace_id = i.workspace_id and w.conversation_id = i.conversation_id and w.id = i.id`
  await mergePendingWords(sql)
}

export type SliceRef = Pick<Slice, 'slice' | 'from_id'>

/** The slices that may hold ids below `before`, newest first. */
export async function listSlices(sql: Sql, workspaceId: string, before: string, limit: number): Promise<SliceRef[]> {
  return sql<SliceRef[]>`
    select slice, from_id from message_slices
    where workspace_id = ${workspaceId} and from_id < ${before}
    order by from_id desc
    limit ${limit}`
}

/** `content_text` is the searched beginning. */
export type Candidate = Pick<
  Message,
  'id' | 'conversation_id' | 'direction' | 'content_type' | 'content_text' | 'created_at'
>

/** The index query uses only this many terms. The search checks all terms against the text. */
const maxTerms = 12

/**
 * The newest messages with these words and an id below `before`, as of the last digest. `slices` are newest first. They do
 * not overlap, so the query stops at the slice that fills the page. A prefix that every word of a slice has reads the
 * whole slice.
 *
 * `is true` keeps the conditions on workspace and id out of the indexes: the planner must use the word index, whatever the
 * statistics are.
 */
export async function listCandidates(
  sql: Sql,
  workspaceId: string,
  terms: readonly Term[],
  { slices, before, limit }: { slices: readonly SliceRef[]; before: string; limit: number },
): Promise<Candidate[]> {
  // Words contain only letters and digits, so they need no escaping in a query.
  const queries = slices.map(({ slice }) =>
    terms
      .slice(0, maxTerms)
      .map(({ text, isPrefix }) => `'${slice}.${text}'${isPrefix ? ':*' : ''}`)
      .join(' & '),
  )
  return sql<Candidate[]>`
    select m.id, m.conversation_id, m.direction, m.content_type,
      left(m.content_text, ${maxSearchedLength}) as content_text, m.created_at
    from (
      select w.conversation_id, w.id
      from unnest(${queries}::text[]) as s (query)
      cross join lateral (
        select w.conversation_id, w.id
        from message_words w
        where w.words @@ s.query::tsquery
          and (w.workspace_id = ${workspaceId} and w.id < ${before}) is true
        order by w.id desc
        limit ${limit}
      ) w
      limit ${limit}
    ) w
    join messages m on m.workspace_id = ${workspaceId} and m.conversation_id = w.conversation_id and m.id = w.id
    order by m.id desc`
}

type WordRow = Omit<IndexableMessage, 'content_text'> & { words: string[] | null }

function toRow({ workspace_id, conversation_id, id, content_text }: IndexableMessage, slice: number): WordRow {
  const words = new Set<string>()
  for (const { text } of content_text ? listWords(content_text) : []) {
    words.add(`${slice}.${text}`)
    if (words.size === maxWords) break
  }
  return { workspace_id, conversation_id, id, words: words.size > 0 ? [...words] : null }
}

/** The newest slice of each workspace. */
async function findNewestSlices(sql: Sql, workspaceIds: readonly string[]): Promise<Map<string, Slice>> {
  const slices = await sql<Slice[]>`
    select s.workspace_id, s.from_id, s.slice, s.last_id, s.message_count
    from unnest(${workspaceIds}::uuid[]) as i (workspace_id)
    cross join lateral (
      select workspace_id, from_id, slice, last_id, message_count from message_slices s
      where s.workspace_id = i.workspace_id
      order by from_id desc
      limit 1
    ) s`
  return new Map(slices.map((slice) => [slice.workspace_id, { ...slice }]))
}

/** The slice of each message, by message id. */
async function findSlices(sql: Sql, messages: readonly IndexableMessage[]): Promise<Map<string, number>> {
  if (messages.length === 0) return new Map()
  const slices = await sql<{ id: string; slice: number }[]>`
    select i.id, s.slice
    from unnest(${messages.map(({ workspace_id }) => workspace_id)}::uuid[], ${messages.map(({ id }) => id)}::uuid[])
      as i (workspace_id, id)
    cross join lateral (
      select slice from message_slices s
      where s.workspace_id = i.workspace_id and s.from_id <= i.id
      order by from_id desc
      limit 1
    ) s`
  return new Map(slices.map(({ id, slice }) => [id, slice]))
}

/** Deletes the words of messages that the same transaction erases, so that no search finds them. */
export async function deleteWords(
  sql: Sql,
  workspaceId: string,
  contactId: string,
  messageIds: readonly string[],
): Promise<void> {
  await sql`
    delete from message_words w using conversations v
    where v.workspace_id = ${workspaceId} and v.contact_id = ${contactId} and w.workspace_id = ${workspaceId}
      and w.conversation_id = v.id and w.id = any(${[...messageIds]}::uuid[])`
}
