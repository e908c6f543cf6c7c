/** Marks conversations as unread, and blocks contacts on a channel. */
import { useMemo } from 'react'
import { useToast } from '../../../../ui/overlays.tsx'
import { call, invalidate } from '../../lib/api.ts'
import { putConversations } from '../../lib/conversations.ts'
import { useSession } from '../../lib/session.tsx'
import { words } from '../../words/words.ts'
import { changeConversations, findConversation } from './conversations.ts'
import type { Conversation } from './data.ts'

const { contact: texts } = words.inbox

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
    const markUnread = async (ids: readonly string[]): Promise<void> => {
      const rows = new Map(ids.flatMap((id) => findConversation(id) ?? []).map((row) => [row.id, row]))
      for (const { id, last_message_at } of rows.values()) kept.set(id, last_message_at)
      const patch = ({ unread_count }: Conversation) => ({ unread_count: Math.max(1, unread_count) })
      const save = async () => {
        for (const id of rows.keys()) await call('POST /conversations/{id}/unread', { params: { id } })
      }
      try {
        await changeConversations(rows, patch, memberId, save)
        await invalidate({ queryKey: ['GET /conversations/counts'] })
        toast.success(texts.markedUnread(rows.size))
      } catch (error) {
        forgetKeptUnread()
        toast.error(error)
      }
    }
    const setBlocked = async (id: string, isBlocked: boolean): Promise<void> => {
      const before = findConversation(id)
      const name = isBlocked ? 'POST /conversations/{id}/block' : 'POST /conversations/{id}/unblock'
      try {
        const { data } = await call(name, { params: { id } })
        putConversations([data], memberId)
        await invalidate({ queryKey: ['GET /conversations/{id}/timeline'] })
        const undo = async () => {
          await setBlocked(id, !isBlocked)
          // A block also closes the conversation.
          if (isBlocked && before && before.status !== 'closed')
            await call('PATCH /conversations/{id}', {
              params: { id },
              body: before.snoozed_until ? { snoozed_until: before.snoozed_until } : { status: before.status },
            })
        }
        toast.success(isBlocked ? texts.blocked : texts.unblocked, () => void undo().catch(toast.error))
      } catch (error) {
        toast.error(error)
      }
    }
    return { markUnread, setBlocked }
  }, [toast, memberId])
}
