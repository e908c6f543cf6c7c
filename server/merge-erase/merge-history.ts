/**
 * Merging a contact with a long history: its messages move in batches, each in a transaction of its own, oldest first.
 *
 * No batch locks a conversation, so customers and members write in both as usual. The last transaction (`merge-contacts.ts`) moves
 * the rest and switches over. The row in `contact_merges` exists from the first batch until then: after a stop of the process a
 * worker continues, and the limits were checked before anything moved. Two processes that continue the same merge take turns.
 *
 * The digest pauses during a batch. A pause after each batch lets it continue, and leaves time for other work.
 *
 * Measured on a busy machine (two cores, load 13 to 17). With 100,000 messages and a pause as long as each batch, customers' messages
 * took 23 ms (p95 157 ms, maximum 3.3 s) and the merge 119 s. With 30,000 messages and the pause below, they took 43 ms (p95 146 ms,
 * maximum 0.9 s), a batch 0.6 s and the last transaction 70 ms.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Times } from '../../common/times.ts'
import { type Db, type Fragment, type Sql, withRetries } from '../lib/postgres/db.ts'
import { lockMerged, type Merge, requireWithinLimits } from './merge-contact-rows.ts'
import { listMoves } from './merge-conversations.ts'
import { giveRecipientsOf } from './merge-recipients.ts'
import { moveWords, pauseDigest } from './move-digest.ts'
import { deferMoves, listOldest, moveMessages } from './move-messages.ts'

export type OpenMerge = Merge & { workspaceId: string }

/** Messages per transaction. */
const batchSize = 500
/** The pause after a batch, relative to its duration. */
const pauseRatio = 0.25

/** Whether one transaction is too long for the messages of the contact. */
export async function hasLongHistory(sql: Sql, { workspaceId, fromId }: OpenMerge): Promise<boolean> {
  const [message] = await sql`
    select from conversations v
    join messages m on m.workspace_id = v.workspace_id and m.conversation_id = v.id
    where v.workspace_id = ${workspaceId} and v.contact_id = ${fromId}
    offset ${batchSize}
    limit 1`
  return message !== undefined
}

/** Stores the merge. 404 when a contact is missing, 400 when the result would have too many tags or attributes. */
export async function acceptMerge(db: Db, { workspaceId, toId, fromId }: OpenMerge): Promise<void> {
  await db.begin(async (sql) => {
    await lockMerged(sql, workspaceId, { toId, fromId })
    await requireWithinLimits(sql, workspaceId, { toId, fromId })
    await sql`
      insert into contact_merges (workspace_id, from_id, to_id)
      values (${workspaceId}, ${fromId}, ${toId})
      on conflict do nothing`
  })
}

/** Condition on conversation `v`: a merge of its contact is open, so a part of its messages may be in another conversation. */
export const isMerging = (sql: Sql): Fragment => sql`exists (
  select from contact_merges g
  where g.workspace_id = v.workspace_id and v.contact_id in (g.from_id, g.to_id)
)`

/** The open merges of one of these contacts, in either role. */
export async function listMergesOf(sql: Sql, workspaceId: string, contactIds: readonly string[]): Promise<OpenMerge[]> {
  return sql<OpenMerge[]>`
    select workspace_id as "workspaceId", from_id as "fromId", to_id as "toId" from contact_merges
    where workspace_id = ${workspaceId}
      and (from_id = any(${[...contactIds]}::uuid[]) or to_id = any(${[...contactIds]}::uuid[]))`
}

/** Open merges of all workspaces that no process has continued for a while. */
export async function listAbandonedMerges(sql: Sql, { abandonedMs }: Times['merges']): Promise<OpenMerge[]> {
  return sql<OpenMerge[]>`
    select workspace_id as "workspaceId", from_id as "fromId", to_id as "toId" from contact_merges
    where continued_at < now() - make_interval(secs => ${abandonedMs / 1000})
    limit ${continuedAtOnce}`
}

const continuedAtOnce = 10

/** Moves the messages except the last ones. Returns also when the merge is done or one of the contacts was erased. */
export async function moveHistory(db: Db, merge: OpenMerge): Promise<void> {
  for (;;) {
    const startedAt = performance.now()
    const isFull = await withRetries(() => db.begin((sql) => moveBatch(sql, merge)))
    if (!isFull) return
    await sleep((performance.now() - startedAt) * pauseRatio)
  }
}

/** Returns whether the batch was full. */
async function moveBatch(sql: Sql, { workspaceId, toId, fromId }: OpenMerge): Promise<boolean> {
  const [open] = await sql`
    update contact_merges set continued_at = now()
    where workspace_id = ${workspaceId} and from_id = ${fromId} and to_id = ${toId}
    returning from_id`
  if (!open) return false
  await pauseDigest(sql)
  await deferMoves(sql)
  let left = batchSize
  for (const move of await listMoves(sql, workspaceId, { toId, fromId })) {
    if (move.toId === null) continue
    const ids = await listOldest(sql, workspaceId, move.fromId, left)
    await moveMessages(sql, workspaceId, move.fromId, move.toId, ids)
    await giveRecipientsOf(sql, workspaceId, { toId, fromId }, ids)
    await moveWords(sql, workspaceId, move.fromId, move.toId, ids)
    left -= ids.length
  }
  return left === 0
}
