/** Marks conversations as read and unread, and blocks contacts on a channel. */
import { useMemo } from 'react'
import { useToast } from '../../../../ui/overlays.tsx'
import { call, invalidate } from '../../lib/api.ts'
import { putConversations } from '../../lib/conversations.ts'
import { useSession } from '../../lib/session.tsx'
import { words } from '../../words/words.ts'
import { rememberChange, statusField } from './changes.ts'
import { changeConversations, customerOf, findConversation } from './conversations.ts'
import type { Conversation } from './data.ts'

const { flow } = words.inbox

/**
 * The conversations that the member marked as unread while one was open, with their last message. The open one stays unread until the
 * member opens it again or a message arrives.
 */
const kept = new Map<string, string | null>()

export const isKeptUnread = ({ id, last_message_at }: Conversation): boolean => kept.get(id) === last_message_at

/** Another conversation was opened. */
export const forgetKeptUnread = (): void => kept.clear()

export function useModeration() {
  const toast = useToast()
  const { id: memberId } = useSession().member
  return useMemo(() => {
    const setUnread = async (rows: ReadonlyMap<string, Conversation>, isUnread: boolean): Promise<void> => {
      for (const { id, last_message_at } of rows.values()) {
        if (isUnread) kept.set(id, last_message_at)
        else kept.delete(id)
      }
      const patch = ({ unread_count }: Conversation) => ({ unread_count: isUnread ? Math.max(1, unread_count) : 0 })
      const name = isUnread ? 'POST /conversations/{id}/unread' : 'POST /conversations/{id}/read'
      const save = async () => {
        for (const id of rows.keys()) await call(name, { params: { id } })
      }
      try {
        await changeConversations(rows, patch, memberId, save)
        await invalidate({ queryKey: ['GET /conversations/counts'] })
      } catch (error) {
        forgetKeptUnread()
        throw error
      }
    }
    const mark = async (ids: readonly string[], isUnread: boolean): Promise<void> => {
      const rows = new Map(ids.flatMap((id) => findConversation(id) ?? []).map((row) => [row.id, row]))
      // The others are not changed.
      const changed = new Map([...rows].filter(([, { unread_count }]) => unread_count > 0 !== isUnread))
      try {
        await setUnread(rows, isUnread)
      } catch (error) {
        return toast.error(error)
      }
      const [first] = changed.keys()
      if (!first) return
      rememberChange(toast, {
        kind: isUnread ? 'unread' : 'read',
        field: 'unread',
        ids: [...changed.keys()],
        name: customerOf(first),
        text: isUnread ? flow.unread : flow.read,
        undo: () => void setUnread(changed, !isUnread).catch(toast.error),
      })
    }
    const saveBlocked = async (id: string, isBlocked: boolean): Promise<Conversation> => {
      const name = isBlocked ? 'POST /conversations/{id}/block' : 'POST /conversations/{id}/unblock'
      const { data } = await call(name, { params: { id } })
      putConversations([data], memberId)
      await invalidate({ queryKey: ['GET /conversations/{id}/timeline'] })
      return data
    }
    const setBlocked = async (id: string, isBlocked: boolean): Promise<void> => {
      const before = findConversation(id)
      let after: Conversation
      try {
        after = await saveBlocked(id, isBlocked)
      } catch (error) {
        return toast.error(error)
      }
      const isReopened = before?.status === 'closed' && after.status !== 'closed'
      const undo = async () => {
        await saveBlocked(id, !isBlocked)
        // The end of a block opens the conversation again, but does not snooze it.
        if (!isBlocked || !before?.snoozed_until) return
        const body = { snoozed_until: before.snoozed_until }
        const { data } = await call('PATCH /conversations/{id}', { params: { id }, body })
        putConversations([data], memberId)
      }
      rememberChange(toast, {
        kind: isBlocked ? 'blocked' : isReopened ? 'unblocked-open' : 'unblocked',
        field: statusField,
        ids: [id],
        name: customerOf(id),
        text: isBlocked ? flow.blocked : isReopened ? flow.unblockedOpen : flow.unblocked,
        undo: () => void undo().catch(toast.error),
      })
    }
    return { mark, setBlocked }
  }, [toast, memberId])
}
