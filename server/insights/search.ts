/**
 * Full-text search in the messages of a workspace, newest first.
 *
 * The word index yields candidates, slice by slice. Each candidate is checked against the current text, so an edited or
 * deleted message is not found by its old text. A search that finds little in very many messages stops at a time limit, and
 * its cursor continues from there.
 */
import { listConversationsById } from '../conversations/conversations.ts'
import type { Conversation } from '../conversations/resource.ts'
import { listVisibleIds } from '../conversations/visible-step.ts'
import { badRequest } from '../lib/errors.ts'
import { encodeCursor, type Page, type Position } from '../lib/page.ts'
import type { Sql } from '../lib/postgres/db.ts'
import { lengthOf } from '../lib/text.ts'
import { createYielder } from '../lib/time.ts'
import type { Reader } from '../teams/visibility.ts'
import { type Candidate, listCandidates, listSlices, type SliceRef } from './word-index.ts'
import { excerpt, findTerms, readTerms, type Term } from './words.ts'

export type SearchResult = { message: Candidate; snippet: string; conversation: Conversation }

const maxQueryLength = 200
/** Slices per round: a common word fills its page from one, and a rare word takes few rounds among hundreds. */
const roundSizes = [1, 4, 16, 64, 128] as const
const maxSlices = 2_048
const timeoutMs = 1_500

/** Messages that contain every word of the query; the last word matches as a prefix. */
export async function searchMessages(
  sql: Sql,
  reader: Reader,
  query: string,
  { limit, before }: Position,
): Promise<Page<SearchResult>> {
  const terms = readQuery(query)
  if (terms.length === 0) return { data: [], meta: { next_cursor: null } }
  const { matches, restId } = await findMatches(sql, reader, terms, { limit, before })
  const shown = matches.slice(0, limit)
  const nextId = matches.length > limit ? shown.at(-1)?.message.id : restId
  const data = await toResults(sql, reader.workspaceId, shown)
  return { data, meta: { next_cursor: nextId === undefined ? null : encodeCursor(nextId) } }
}

/** The terms of a query; none when it has no letter and no digit. */
export function readQuery(query: string): Term[] {
  const length = lengthOf(query.trim())
  if (length < 1 || length > maxQueryLength) throw badRequest(`q: must have 1 to ${maxQueryLength} characters`)
  return readTerms(query)
}

type Match = { message: Candidate; snippet: string }

/** Up to `limit + 1` matches. `restId`: the id below which there may be more, when the search stopped early. */
async function findMatches(sql: Sql, reader: Reader, terms: readonly Term[], { limit, before }: Position) {
  const { workspaceId } = reader
  const deadline = performance.now() + timeoutMs
  const slices = await listSlices(sql, workspaceId, before, maxSlices)
  const matches: Match[] = []
  const yieldIfDue = createYielder()
  for (let round = 0, from = 0; from < slices.length; round++) {
    const group = slices.slice(from, from + (roundSizes[round] ?? 128))
    from += group.length
    for await (const { isVisible, ...message } of walkSlices(sql, reader, terms, group, before, limit + 1)) {
      const text = message.content_text ?? ''
      const first = isVisible ? findTerms(text, terms) : undefined
      if (first !== undefined) matches.push({ message, snippet: excerpt(text, first) })
      if (matches.length > limit) return { matches, restId: undefined }
      if (performance.now() > deadline) return { matches, restId: message.id }
      await yieldIfDue()
    }
    if (performance.now() > deadline && from < slices.length) return { matches, restId: group.at(-1)?.from_id }
  }
  return { matches, restId: slices.length === maxSlices ? slices.at(-1)?.from_id : undefined }
}

/** The candidates of these slices, newest first, read in pages of `limit`, and whether the reader sees their conversation. */
async function* walkSlices(
  sql: Sql,
  reader: Reader,
  terms: readonly Term[],
  slices: readonly SliceRef[],
  before: string,
  limit: number,
): AsyncGenerator<Candidate & { isVisible: boolean }> {
  for (let below: string | undefined = before; below !== undefined; ) {
    const candidates: Candidate[] = await listCandidates(sql, reader.workspaceId, terms, {
      slices,
      before: below,
      limit,
    })
    const visible = await listVisibleIds(sql, reader, [...new Set(candidates.map((one) => one.conversation_id))])
    yield* candidates.map((one) => ({ ...one, isVisible: visible.has(one.conversation_id) }))
    below = candidates.length === limit ? candidates.at(-1)?.id : undefined
  }
}

async function toResults(sql: Sql, workspaceId: string, matches: readonly Match[]): Promise<SearchResult[]> {
  if (matches.length === 0) return []
  const ids = new Set(matches.map(({ message }) => message.conversation_id))
  const conversations = await listConversationsById(sql, workspaceId, [...ids])
  const byId = new Map(conversations.map((conversation) => [conversation.id, conversation]))
  return matches.flatMap(({ message, snippet }) => {
    const conversation = byId.get(message.conversation_id)
    return conversation ? [{ message, snippet, conversation }] : []
  })
}
