/** The unread mentions of the member. Opening a conversation marks its mentions as read. */
import { useEffect } from 'react'
import { useChange, usePages } from '../../lib/api.ts'

/** Newest first, at most one page: more are shown as "50". */
export const useUnreadMentions = () =>
  usePages('GET /mentions', { query: { unread: 'true' } }, { live: 'member' }).items

/** Marks the mentions in this conversation as read while the window is visible. */
export function useReadMentions(conversationId: string, isVisible: boolean): void {
  const { mutate } = useChange('POST /mentions/read', { stale: ['GET /mentions'] })
  const newestId = useUnreadMentions().find(({ conversation_id }) => conversation_id === conversationId)?.id
  useEffect(() => {
    if (newestId && isVisible) mutate({ body: { conversation_id: conversationId } })
  }, [newestId, isVisible, conversationId, mutate])
}
