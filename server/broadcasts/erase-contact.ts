/**
 * Somebody is erased: the contact with names, tags and places in segments, the
 * conversations and messages, the files, and what broadcasts remember. Each
 * room erases what is its own; here is the order.
 *
 * Files and most messages go first, in small transactions, and the rest with
 * the contact in the last one. Broken off in between, somebody is still there
 * with less that was said, and asking again goes on. Whoever writes later is
 * somebody new: nothing is left to know them by, not even that they opted out.
 *
 * Kept for a time, and gone by themselves: the bodies of webhook events, which
 * are what was delivered, for thirty days; answers kept for a repeated request,
 * and reports that came before their message, for hours. A file is dropped from
 * the store of this process: where processes keep media apart, the others keep
 * theirs.
 */
import type { FastifyBaseLogger } from 'fastify'
import { deleteContact, requireContact } from '../contacts/contacts.ts'
import { lockThreadsOf } from '../conversations/threads.ts'
import { deleteWords } from '../insights/word-index.ts'
import { type Db, type Sql, withRetries } from '../lib/db.ts'
import { notFound } from '../lib/errors.ts'
import type { Store } from '../lib/store.ts'
import { deleteFiles } from '../media/media.ts'
import { deleteMessagesOf, eraseMediaOf, listMessagesOf, lockMessagesOf } from '../messages/erase.ts'
import { eraseReached, eraseUnreached, holdFilling, holdSenders } from './erase.ts'

export type Erasing = { db: Db; store: Store; log: FastifyBaseLogger }

/** So many messages a transaction: some 50 ms. */
const chunkSize = 1_000

export const createEraser =
  ({ db, store, log }: Erasing) =>
  async (workspaceId: string, id: string): Promise<void> => {
    const { id: contactId } = await requireContact(db, workspaceId, id)
    await eraseMediaOf(db, store, workspaceId, contactId)
    const media: string[] = []
    const eraseSome = async (sql: Sql): Promise<boolean> => {
      const ids = await listMessagesOf(sql, workspaceId, contactId, chunkSize)
      if (ids.length === 0) return false
      await holdSenders(sql, workspaceId, ids)
      await lockMessagesOf(sql, workspaceId, contactId, ids)
      await eraseReached(sql, workspaceId, ids)
      await deleteWords(sql, workspaceId, contactId, ids)
      media.push(...(await deleteMessagesOf(sql, workspaceId, contactId, ids)))
      return ids.length === chunkSize
    }
    while (await withRetries(() => db.begin(eraseSome))) {
      // Until few are left.
    }
    await withRetries(() =>
      db.begin(async (sql) => {
        await holdFilling(sql, workspaceId)
        await eraseUnreached(sql, workspaceId, contactId)
        await lockThreadsOf(sql, workspaceId, contactId)
        while (await eraseSome(sql)) {
          // What came meanwhile.
        }
        if (!(await deleteContact(sql, workspaceId, contactId))) throw notFound('contact')
      }),
    )
    await deleteFiles(store, media, log)
  }
