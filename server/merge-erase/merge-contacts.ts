/**
 * Merges a contact into another one: conversations with everything in them, identities, tags, attributes, notes, memberships
 * and recipients of broadcasts. This file has the order of the steps.
 *
 * One transaction switches over, so an interruption changes nothing and a repeat after success finds no contact (404). Most of a
 * long history moves before it (`merge-history.ts`): this transaction locks conversations, and 100,000 messages take 20 seconds.
 *
 * Locks follow the lock order in ARCHITECTURE.md. The contacts are locked after their conversations, and only then do conversations
 * change hands. A conversation that a message created in between is moved too; this breaks the order, so a deadlock is retried.
 *
 * A message that arrives meanwhile waits for the lock of its conversation. It then finds that the conversation is gone or has
 * another contact, and is stored where the identity of its sender leads now (`messages/receiving/store-inbound.ts`).
 *
 * A segment broadcast that is being filled treats the merged contact as erased: the contact that stays gets the message only if
 * it is in the segment itself.
 */
import type { Times } from '../../common/times.ts'
import { blockFilling } from '../broadcasts/erase.ts'
import { requireContact } from '../contacts/contacts.ts'
import { ApiError, badRequest } from '../lib/errors.ts'
import { type Db, type Fragment, type Sql, withRetries } from '../lib/postgres/db.ts'
import { moveMemberships } from '../segments/segments.ts'
import type { Live } from '../signals/live.ts'
import type { Signals } from '../signals/signals.ts'
import { visitorTopic } from '../webchat/stream.ts'
import { lockMerged, type Merge, mergeContactRows, requireWithinLimits } from './merge-contact-rows.ts'
import {
  type ConversationMove,
  foldConversation,
  giveConversation,
  lockMoves,
  moveConversationRows,
} from './merge-conversations.ts'
import {
  acceptMerge,
  hasLongHistory,
  listAbandonedMerges,
  listMergesOf,
  moveHistory,
  type OpenMerge,
} from './merge-history.ts'
import { giveSentRecipients, giveUnsentRecipients, lockUnsentBroadcasts } from './merge-recipients.ts'
import { moveDigested } from './move-digest.ts'
import { deferMoves, moveMessages, nameVisitors } from './move-messages.ts'

export type MergeContext = { db: Db; live: Live; signals: Signals }

/** Merges the contact `otherId` into the contact `id`. 404 when one of them does not exist. */
export const createMerger =
  (context: MergeContext) =>
  async (workspaceId: string, id: string, otherId: string): Promise<void> => {
    const { db } = context
    const { id: toId } = await requireContact(db, workspaceId, id)
    const { id: fromId } = await requireContact(db, workspaceId, otherId)
    if (toId === fromId) throw badRequest('contact_id: must be another contact')
    await completeMergesOf(context, workspaceId, [toId, fromId])
    await withRetries(() => nameVisitors(db, workspaceId, [toId, fromId]))
    const merge = { workspaceId, toId, fromId }
    if (!(await hasLongHistory(db, merge))) return switchOver(context, merge)
    await acceptMerge(db, merge)
    await completeMerge(context, merge)
  }

/** Completes the merges of these contacts that are in progress. */
export async function completeMergesOf(
  context: MergeContext,
  workspaceId: string,
  contactIds: readonly string[],
): Promise<void> {
  for (const merge of await listMergesOf(context.db, workspaceId, contactIds)) await completeMerge(context, merge)
}

export const hasMerges = (sql: Sql): Fragment => sql`exists (select from contact_merges)`

/** Completes merges whose process was stopped. */
export async function completeAbandonedMerges(context: MergeContext, times: Times['merges']): Promise<void> {
  for (const merge of await listAbandonedMerges(context.db, times)) {
    await completeMerge(context, merge)
    context.signals.changed(merge.workspaceId)
  }
}

async function completeMerge(context: MergeContext, merge: OpenMerge): Promise<void> {
  await moveHistory(context.db, merge)
  await switchOver(context, merge, { isAccepted: true }).catch((error: unknown) => {
    // Another process completed it, or a contact was erased.
    if (!(error instanceof ApiError && error.code === 'not_found')) throw error
  })
}

async function switchOver(
  { db, live, signals }: MergeContext,
  { workspaceId, toId, fromId }: OpenMerge,
  { isAccepted = false } = {},
): Promise<void> {
  const visitorIds = await listVisitors(db, workspaceId, fromId)
  const run = (sql: Sql) => mergeRows(sql, workspaceId, { toId, fromId }, isAccepted)
  const moves = await withRetries(() => db.begin(run) as Promise<ConversationMove[]>)
  // The streams of the web chat follow their visitor to the conversation that took the messages.
  for (const visitorId of visitorIds) live.announce(visitorTopic(visitorId))
  signals.inboxChanged(workspaceId)
  for (const { toId: conversationId } of moves) if (conversationId) signals.conversationChanged(conversationId)
}

/** `isAccepted`: the limits were checked before the history moved. */
async function mergeRows(
  sql: Sql,
  workspaceId: string,
  contacts: Merge,
  isAccepted: boolean,
): Promise<ConversationMove[]> {
  const { toId, fromId } = contacts
  await blockFilling(sql, workspaceId)
  const broadcastIds = await lockUnsentBroadcasts(sql, workspaceId, contacts)
  await moveMemberships(sql, workspaceId, fromId, toId)
  await deferMoves(sql)
  const moved = new Set<string>()
  const moveContents = async (): Promise<ConversationMove[]> => {
    const moves = await lockMoves(sql, workspaceId, contacts)
    for (const move of moves) {
      if (move.toId === null || moved.has(move.fromId)) continue
      moved.add(move.fromId)
      await moveMessages(sql, workspaceId, move.fromId, move.toId)
      await moveDigested(sql, workspaceId, move.fromId, move.toId)
      await moveConversationRows(sql, workspaceId, move.fromId, move.toId)
    }
    return moves
  }
  await lockMoves(sql, workspaceId, contacts)
  await giveSentRecipients(sql, workspaceId, contacts)
  await giveUnsentRecipients(sql, workspaceId, contacts, broadcastIds)
  await moveContents()
  await lockMerged(sql, workspaceId, contacts)
  if (!isAccepted) await requireWithinLimits(sql, workspaceId, contacts)
  // With conversations that messages created before the contacts were locked.
  const moves = await moveContents()
  for (const { fromId: id, toId: conversationId } of moves) {
    if (conversationId === null) await giveConversation(sql, workspaceId, id, toId)
    else await foldConversation(sql, workspaceId, id, conversationId)
  }
  await mergeContactRows(sql, workspaceId, contacts)
  return moves
}

/** The web chat visitors of a contact. */
async function listVisitors(sql: Sql, workspaceId: string, contactId: string): Promise<string[]> {
  const rows = await sql<{ external_id: string }[]>`
    select external_id from contact_identities
    where workspace_id = ${workspaceId} and contact_id = ${contactId} and channel = 'web'`
  return rows.map(({ external_id }) => external_id)
}
