/**
 * By which words messages are found.
 *
 * A workspace's messages lie in slices, stretches of ids of some 25,000, and
 * each word is kept with the number of its slice before it: `17.order`. So one
 * look into the index is about one slice of one workspace and no more, also
 * for the beginning of a word, however many messages there are and whoever
 * else uses the word; and what is written lies together, so writing costs the
 * same at ten million as at ten thousand. A search goes from slice to slice,
 * newest first: a common word fills its page from the first, a rare one costs
 * some microseconds a slice.
 *
 * Only the digest writes here.
 */
import type { Sql } from '../lib/db.ts'
import { listWords, type Term } from '../lib/words.ts'
import type { Message } from '../messages/messages.ts'

/** Larger, and a common word costs more; smaller, and a rare one does. */
const sliceSize = 25_000
/** A text of more is found by these. */
const maxWords = 1_000

export type Texted = { workspace_id: string; conversation_id: string; id: string; content_text: string | null }

type Slice = {
  workspace_id: string
  from_id: string
  slice: number
  last_id: string
  message_count: number
}

/** Below every id: the first slice also has what comes late. */
const bottom = '00000000-0000-0000-0000-000000000000'

/** Keep the words of new messages, in order of id. Answers how many slices there are after it. */
export async function addWords(sql: Sql, messages: readonly Texted[], sliceCount: number): Promise<number> {
  const newest = await findNewest(sql, [...new Set(messages.map(({ workspace_id }) => workspace_id))])
  const late = messages.filter(({ workspace_id, id }) => id < (newest.get(workspace_id)?.from_id ?? bottom))
  const lateSlices = await findSlices(sql, late)
  const changed = new Set<Slice>()
  let count = sliceCount
  const rows: Row[] = []
  for (const message of messages) {
    const { workspace_id, id } = message
    const lateSlice = lateSlices.get(id)
    if (lateSlice !== undefined) {
      rows.push(toRow(message, lateSlice))
      continue
    }
    let slice = newest.get(workspace_id)
    // The next one begins above everything in this one, so that slices never overlap.
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
      as g (workspace_id uuid, conversation_id uuid, id uuid, words text[])`
  await sql`
    insert into message_slices as s (workspace_id, from_id, slice, last_id, message_count)
    select workspace_id, from_id, slice, last_id, message_count
    from json_to_recordset(${JSON.stringify([...changed])}::text::json)
      as g (workspace_id uuid, from_id uuid, slice int, last_id uuid, message_count int)
    on conflict (workspace_id, from_id) do update set
      last_id = excluded.last_id, message_count = excluded.message_count`
  return count
}

/** Messages that have rows have other texts now. */
export async function changeWords(sql: Sql, messages: readonly Texted[]): Promise<void> {
  if (messages.length === 0) return
  const slices = await findSlices(sql, messages)
  const rows = messages.map((message) => toRow(message, slices.get(message.id) ?? 0))
  await sql`
    update message_words w set words = array_to_tsvector(g.words)
    from json_to_recordset(${JSON.stringify(rows)}::text::json)
      as g (workspace_id uuid, conversation_id uuid, id uuid, words text[])
    where w.workspace_id = g.workspace_id and w.conversation_id = g.conversation_id and w.id = g.id`
}

export type SliceOf = Pick<Slice, 'slice' | 'from_id'>

/** Slices with messages below this one, newest first. */
export async function listSlices(sql: Sql, workspaceId: string, before: string, limit: number): Promise<SliceOf[]> {
  return sql<SliceOf[]>`
    select slice, from_id from message_slices
    where workspace_id = ${workspaceId} and from_id < ${before}
    order by from_id desc
    limit ${limit}`
}

export type Hit = Pick<Message, 'id' | 'conversation_id' | 'direction' | 'content_type' | 'content_text' | 'created_at'>

/** More terms than these narrow a search no further; whoever reads what is found looks at all of them. */
const maxTerms = 12

/**
 * The newest messages of these slices, which come newest first, below `before` that have the words, as of the last
 * digest. Slices lie apart, so the first that fill the page end the look: a beginning that all of a slice's words have
 * costs a look at all of them.
 *
 * The tenant and the place are asked in a way that no index answers: whatever the statistics say, only the words lead to
 * the rows.
 */
export async function listHits(
  sql: Sql,
  workspaceId: string,
  terms: readonly Term[],
  { slices, before, limit }: { slices: readonly SliceOf[]; before: string; limit: number },
): Promise<Hit[]> {
  // Words are letters and digits: nothing in them means anything else to the parser of queries.
  const query = terms.slice(0, maxTerms).map(({ text, isPrefix }) => `'#.${text}'${isPrefix ? ':*' : ''}`)
  return sql<Hit[]>`
    select m.id, m.conversation_id, m.direction, m.content_type, m.content_text, m.created_at
    from (
      select w.conversation_id, w.id
      from unnest(${slices.map(({ slice }) => slice)}::int[]) as s (slice)
      cross join lateral (
        select w.conversation_id, w.id
        from message_words w
        where w.words @@ replace(${query.join(' & ')}, '#', s.slice::text)::tsquery
          and (w.workspace_id = ${workspaceId} and w.id < ${before}) is true
        order by w.id desc
        limit ${limit}
      ) w
      limit ${limit}
    ) w
    join messages m on m.workspace_id = ${workspaceId} and m.conversation_id = w.conversation_id and m.id = w.id
    order by m.id desc`
}

type Row = Omit<Texted, 'content_text'> & { words: string[] | null }

function toRow({ workspace_id, conversation_id, id, content_text }: Texted, slice: number): Row {
  const found = new Set<string>()
  for (const { text } of content_text ? listWords(content_text) : []) {
    found.add(`${slice}.${text}`)
    if (found.size === maxWords) break
  }
  return { workspace_id, conversation_id, id, words: found.size > 0 ? [...found] : null }
}

async function findNewest(sql: Sql, workspaceIds: readonly string[]): Promise<Map<string, Slice>> {
  const slices = await sql<Slice[]>`
    select s.workspace_id, s.from_id, s.slice, s.last_id, s.message_count
    from unnest(${workspaceIds}::uuid[]) as g (workspace_id)
    cross join lateral (
      select workspace_id, from_id, slice, last_id, message_count from message_slices s
      where s.workspace_id = g.workspace_id
      order by from_id desc
      limit 1
    ) s`
  return new Map(slices.map((slice) => [slice.workspace_id, { ...slice }]))
}

/** The slice each of these messages lies in, by the message's id. */
async function findSlices(sql: Sql, messages: readonly Texted[]): Promise<Map<string, number>> {
  if (messages.length === 0) return new Map()
  const slices = await sql<{ id: string; slice: number }[]>`
    select g.id, s.slice
    from unnest(${messages.map(({ workspace_id }) => workspace_id)}::uuid[], ${messages.map(({ id }) => id)}::uuid[])
      as g (workspace_id, id)
    cross join lateral (
      select slice from message_slices s
      where s.workspace_id = g.workspace_id and s.from_id <= g.id
      order by from_id desc
      limit 1
    ) s`
  return new Map(slices.map(({ id, slice }) => [id, slice]))
}

/** Deletes the words of messages that the same transaction erases, so that no search finds a message that is gone. */
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
