/**
 * Search in everything that was said, newest first.
 *
 * The words lead to candidates, slice by slice; what is shown is what the
 * message says now, so one that was changed or taken back a moment ago is not
 * found by what it said before. A search that finds little in very much is
 * ended after a while with what it has, and its cursor goes on from there.
 */
import { type Conversation, listConversationsById } from '../conversations/conversations.ts'
import type { Sql } from '../lib/db.ts'
import { badRequest } from '../lib/errors.ts'
import { encodeCursor, type Page, type Position } from '../lib/page.ts'
import { lengthOf } from '../lib/text.ts'
import { excerpt, findTerms, readTerms, type Term } from '../lib/words.ts'
import { type Hit, listHits, listSlices, type SliceOf } from './word-index.ts'

export type Found = { message: Hit; snippet: string; conversation: Conversation }

const maxQueryLength = 200
/** Looked at together: one is enough for a common word, and a rare one has few rounds even in hundreds. */
const groups = [1, 4, 16, 64, 128] as const
const maxSlices = 2_048
const patienceMs = 1_500

/** Messages that have every word looked for, the last word as a beginning. */
export async function searchMessages(
  sql: Sql,
  workspaceId: string,
  query: string,
  { limit, before }: Position,
): Promise<Page<Found>> {
  const length = lengthOf(query.trim())
  if (length < 1 || length > maxQueryLength) throw badRequest(`q: must have 1 to ${maxQueryLength} characters`)
  const terms = readTerms(query)
  if (terms.length === 0) return { data: [], meta: { next_cursor: null } }
  const { places, rest } = await findPlaces(sql, workspaceId, terms, { limit, before })
  const shown = places.slice(0, limit)
  const more = places.length > limit ? shown.at(-1)?.message.id : rest
  const data = await show(sql, workspaceId, shown)
  return { data, meta: { next_cursor: more === undefined ? null : encodeCursor(more) } }
}

type Place = { message: Hit; snippet: string }

/** Up to one more than `limit`; `rest`: where there may be more, when it ended before it knew. */
async function findPlaces(sql: Sql, workspaceId: string, terms: readonly Term[], { limit, before }: Position) {
  const deadline = performance.now() + patienceMs
  const slices = await listSlices(sql, workspaceId, before, maxSlices)
  const places: Place[] = []
  for (let round = 0, from = 0; from < slices.length; round++) {
    const group = slices.slice(from, from + (groups[round] ?? 128))
    from += group.length
    for await (const message of walk(sql, workspaceId, terms, group, before, limit + 1)) {
      const text = message.content_text ?? ''
      const first = findTerms(text, terms)
      if (first !== undefined) places.push({ message, snippet: excerpt(text, first) })
      if (places.length > limit) return { places, rest: undefined }
    }
    if (performance.now() > deadline && from < slices.length) return { places, rest: group.at(-1)?.from_id }
  }
  return { places, rest: slices.length === maxSlices ? slices.at(-1)?.from_id : undefined }
}

/** Candidates of these slices, as many as are asked for. */
async function* walk(
  sql: Sql,
  workspaceId: string,
  terms: readonly Term[],
  slices: readonly SliceOf[],
  before: string,
  limit: number,
): AsyncGenerator<Hit> {
  for (let below: string | undefined = before; below !== undefined; ) {
    const hits: Hit[] = await listHits(sql, workspaceId, terms, { slices, before: below, limit })
    yield* hits
    below = hits.length === limit ? hits.at(-1)?.id : undefined
  }
}

async function show(sql: Sql, workspaceId: string, places: readonly Place[]): Promise<Found[]> {
  if (places.length === 0) return []
  const ids = new Set(places.map(({ message }) => message.conversation_id))
  const conversations = await listConversationsById(sql, workspaceId, [...ids])
  const byId = new Map(conversations.map((conversation) => [conversation.id, conversation]))
  return places.flatMap(({ message, snippet }) => {
    const conversation = byId.get(message.conversation_id)
    return conversation ? [{ message, snippet, conversation }] : []
  })
}
