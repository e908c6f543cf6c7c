/** Notes of a conversation: drafts, and adding and removing them in the cached timeline before the service has answered. */
import type { InfiniteData } from '@tanstack/react-query'
import { useCallback } from 'react'
import { type AnswerOf, call, type ItemOf, invalidate, newIdempotencyKey, queryClient } from '../../lib/api.ts'
import { timelineInput } from './data.ts'
import { useMe } from './me.ts'
import type { Mentionable } from './mention-query.ts'

export type Entry = ItemOf<'GET /conversations/{id}/timeline'>
type Timeline = InfiniteData<AnswerOf<'GET /conversations/{id}/timeline'>>

export type NoteDraft = { text: string; mentioned: Mentionable[] }

const draftKey = (id: string) => `parley-note-${id}`

/** The unsaved note of a conversation. It is kept until it is added or the tab is closed. */
export function readNoteDraft(id: string): NoteDraft {
  const stored = sessionStorage.getItem(draftKey(id))
  return stored ? JSON.parse(stored) : { text: '', mentioned: [] }
}

export function saveNoteDraft(id: string, draft: NoteDraft): void {
  if (draft.text) sessionStorage.setItem(draftKey(id), JSON.stringify(draft))
  else sessionStorage.removeItem(draftKey(id))
}

/** Adds a note. It shows at once; a rejected promise means that the service refused it and that it is gone again. */
export function useAddNote(conversationId: string): (draft: NoteDraft) => Promise<void> {
  const me = useMe()
  return useCallback(
    async ({ text: input, mentioned }) => {
      const text = input.trim()
      // A mention whose name was deleted from the text counts no more.
      const mentions = mentioned.filter(({ name }) => text.includes(`@${name}`)).map(({ id, name }) => ({ id, name }))
      const key = newIdempotencyKey()
      const created_at = new Date().toISOString()
      // Sorts after everything that the thread shows now.
      const pending: Entry = { id: `zz-${key}`, kind: 'note', member: me, text, details: { mentions }, created_at }
      changeHead(conversationId, (entries) => [pending, ...entries])
      try {
        const { data } = await call('POST /conversations/{id}/notes', {
          params: { id: conversationId },
          body: { text, mentions: mentions.map(({ id }) => id) },
          idempotencyKey: key,
        })
        changeHead(conversationId, (entries) => [
          data,
          ...entries.filter(({ id }) => id !== pending.id && id !== data.id),
        ])
      } catch (error) {
        changeHead(conversationId, (entries) => entries.filter(({ id }) => id !== pending.id))
        throw error
      }
    },
    [conversationId, me],
  )
}

export const isPending = ({ id }: Entry): boolean => id.startsWith('zz-')

/** Removes a deleted note from the cached timeline. */
export function forgetNote(conversationId: string, noteId: string): void {
  changeHead(conversationId, (entries) => entries.filter(({ id }) => id !== noteId))
  void invalidate({ queryKey: ['GET /conversations/{id}/timeline'] })
}

function changeHead(conversationId: string, change: (entries: Entry[]) => Entry[]): void {
  queryClient.setQueryData<Timeline>(
    ['GET /conversations/{id}/timeline', timelineInput(conversationId)],
    (timeline) => {
      const [first, ...rest] = timeline?.pages ?? []
      return timeline && first && { ...timeline, pages: [{ ...first, data: change(first.data) }, ...rest] }
    },
  )
}
