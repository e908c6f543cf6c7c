/** Conversations as the member sees them: as the service returned them, with the changes that it has not confirmed. */
import { useMemo, useState } from 'react'
import { call, newIdempotencyKey, queryClient, useCall } from '../../lib/api.ts'
import { type ListQuery, placeConversations } from '../../lib/conversation-lists.ts'
import { getCached, putConversations } from '../../lib/conversations.ts'
import { nameOf } from '../../lib/people.ts'
import type { Conversation } from './data.ts'
import {
  dropUnconfirmed,
  listUnconfirmed,
  type Patch,
  putUnconfirmed,
  type Unconfirmed,
  useUnconfirmed,
} from './unconfirmed.ts'

function withChanges(row: Conversation, all: readonly Unconfirmed[]): Conversation {
  let shown = row
  for (const one of all) {
    if (one.kind === 'change' && one.rows.has(row.id)) shown = { ...shown, ...one.patch(shown) }
  }
  return shown
}

export function findConversation(id: string, all = listUnconfirmed()): Conversation | undefined {
  const seen = all.flatMap((one) => (one.kind === 'change' ? (one.rows.get(id) ?? []) : []))
  const row = getCached(id) ?? seen.at(-1)
  return row && withChanges(row, all)
}

export const areClosed = (ids: readonly string[]): boolean =>
  ids.every((id) => findConversation(id)?.status === 'closed')

/**
 * Reads conversations that no list has: those of mentions and of found messages. Undefined: the page has all of them. A change needs to
 * know what a conversation was, to show the change and to undo it.
 */
export function readMissing(ids: readonly string[]): Promise<unknown> | undefined {
  const missing = ids.filter((id) => !findConversation(id))
  if (missing.length === 0) return undefined
  const read = (id: string) =>
    queryClient.fetchQuery({
      queryKey: ['GET /conversations/{id}', { params: { id } }],
      queryFn: async ({ signal }) => (await call('GET /conversations/{id}', { params: { id } }, signal)).data,
    })
  return Promise.all(missing.map(read))
}

/** The name of the customer, for texts about a change. */
export function customerOf(id: string): string {
  const row = findConversation(id)
  return row ? nameOf(row.contact) : ''
}

/** The open conversation. A cached row shows until its own query has loaded. */
export function useConversation(id: string) {
  const query = useCall('GET /conversations/{id}', { params: { id } }, { live: true })
  const [cached] = useState(() => getCached(id))
  const all = useUnconfirmed('change')
  const row = query.data ?? cached
  return { query, conversation: useMemo(() => row && withChanges(row, all), [row, all]) }
}

/** The rows of a list with the unconfirmed changes, each at its position. `isWhole`: no page is missing. */
export function placeChanged(
  rows: Conversation[],
  all: readonly Unconfirmed[],
  query: ListQuery,
  { memberId, isWhole }: { memberId: string; isWhole: boolean },
): Conversation[] {
  const ids = new Set(all.flatMap((one) => (one.kind === 'change' ? [...one.rows.keys()] : [])))
  if (ids.size === 0) return rows
  const changed = [...ids].flatMap((id) => findConversation(id, all) ?? [])
  const pages = [{ data: rows, meta: { next_cursor: isWhole ? null : 'more' } }]
  return placeConversations(pages, changed, [], query, memberId).flatMap(({ data }) => data)
}

/**
 * Shows a change while `save` runs. Then the cached conversations have it. If the service refuses it, they show as they are.
 */
export async function changeConversations<Result>(
  rows: ReadonlyMap<string, Conversation>,
  patch: Patch,
  memberId: string,
  save: () => Promise<Result>,
): Promise<Result> {
  const key = newIdempotencyKey()
  putUnconfirmed({ kind: 'change', key, rows, patch })
  try {
    const result = await save()
    const saved = Array.from(rows, ([id, row]) => getCached(id) ?? row)
    putConversations(
      saved.map((row) => ({ ...row, ...patch(row) })),
      memberId,
    )
    return result
  } finally {
    dropUnconfirmed(key)
  }
}
