/**
 * Erases a contact with everything about it: identities, tags and memberships, conversations, messages and scheduled ones, files, and
 * recipients of broadcasts. This file has the order of the steps.
 *
 * Files and most messages are deleted first, in small transactions. The last transaction deletes the rest with the contact.
 * After an interruption the contact still exists with fewer messages, and the next request continues. A customer who writes
 * after the erasure is a new contact: nothing is left to recognize them by, not even that they opted out.
 *
 * Some data expires by itself: the bodies of webhook events after thirty days, rejected rows of imports after seven, stored answers and
 * early reports after hours, and that a visitor types after minutes.
 * Files are deleted from the store of this process. If processes do not share a store, the others keep their copies.
 */
import type { FastifyBaseLogger } from 'fastify'
import { eraseScheduledOf } from '../automation/scheduled.ts'
import { blockFilling, eraseSentRecipients, eraseUnsentRecipients, lockSendingBroadcasts } from '../broadcasts/erase.ts'
import { deleteContact, requireContact } from '../contacts/contacts.ts'
import { lockThreadsOf } from '../conversations/threads.ts'
import { deleteChangesOf } from '../imports/changes.ts'
import { deleteWords } from '../insights/word-index.ts'
import { notFound } from '../lib/errors.ts'
import { type Db, type Sql, withRetries } from '../lib/postgres/db.ts'
import type { Store } from '../lib/store.ts'
import { deleteFiles } from '../media/media.ts'
import { deleteUnsentFilesOf } from '../media/uploads.ts'
import { deleteMessagesOf, eraseMediaOf, listMessagesOf, lockMessagesOf } from './erase-messages.ts'

export type EraseContext = {
  db: Db
  store: Store
  log: FastifyBaseLogger
  /** Completes merges of the contact: a part of its history may already be with another one. */
  completeMerges: (workspaceId: string, contactIds: readonly string[]) => Promise<void>
}

/** Messages per transaction: about 50 ms. */
const chunkSize = 1_000

export const createEraser =
  ({ db, store, log, completeMerges }: EraseContext) =>
  async (workspaceId: string, id: string): Promise<void> => {
    const { id: contactId } = await requireContact(db, workspaceId, id)
    await completeMerges(workspaceId, [contactId])
    await eraseMediaOf(db, store, workspaceId, contactId)
    const media: string[] = []
    const eraseSome = async (sql: Sql): Promise<boolean> => {
      const ids = await listMessagesOf(sql, workspaceId, contactId, chunkSize)
      if (ids.length === 0) return false
      await lockSendingBroadcasts(sql, workspaceId, ids)
      await lockMessagesOf(sql, workspaceId, contactId, ids)
      await eraseSentRecipients(sql, workspaceId, ids)
      await deleteWords(sql, workspaceId, contactId, ids)
      media.push(...(await deleteMessagesOf(sql, workspaceId, contactId, ids)))
      return ids.length === chunkSize
    }
    while (await withRetries(() => db.begin(eraseSome))) {
      // Each round deletes a full chunk; the last transaction deletes the rest.
    }
    await withRetries(() =>
      db.begin(async (sql) => {
        await blockFilling(sql, workspaceId)
        await eraseUnsentRecipients(sql, workspaceId, contactId)
        await lockThreadsOf(sql, workspaceId, contactId)
        while (await eraseSome(sql)) {
          // Messages that arrived meanwhile.
        }
        await eraseScheduledOf(sql, workspaceId, contactId)
        media.push(...(await deleteUnsentFilesOf(sql, workspaceId, contactId)))
        if (!(await deleteContact(sql, workspaceId, contactId))) throw notFound('contact')
        await deleteChangesOf(sql, workspaceId, contactId)
      }),
    )
    await deleteFiles(store, media, log)
  }
