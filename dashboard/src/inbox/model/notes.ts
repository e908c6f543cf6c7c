/** Notes of a conversation: drafts, and adding one. */
import { useCallback } from 'react'
import { call, newIdempotencyKey } from '../../lib/api.ts'
import { useMe } from '../../lib/session.tsx'
import { type Entry, insertInThread } from './data.ts'
import type { Mentionable } from './mention-query.ts'
import { dropUnconfirmed, putUnconfirmed } from './unconfirmed.ts'

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

export type WritingMode = 'reply' | 'note'

const replyFirstKey = (id: string) => `parley-reply-first-${id}`

/** What the member wrote last in a conversation: a note only while it has text. */
export const readWritingMode = (id: string): WritingMode =>
  readNoteDraft(id).text && sessionStorage.getItem(replyFirstKey(id)) === null ? 'note' : 'reply'

/** Only a reply is stored: an unsaved note comes first by default. */
export function saveWritingMode(id: string, mode: WritingMode): void {
  if (mode === 'reply') sessionStorage.setItem(replyFirstKey(id), 'true')
  else sessionStorage.removeItem(replyFirstKey(id))
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
      const entry: Entry = { id: `zz-${key}`, kind: 'note', member: me, text, details: { mentions }, created_at }
      putUnconfirmed({ kind: 'note', key, conversationId, entry })
      try {
        const { data } = await call('POST /conversations/{id}/notes', {
          params: { id: conversationId },
          body: { text, mentions: mentions.map(({ id }) => id) },
          idempotencyKey: key,
        })
        insertInThread('timeline', conversationId, data)
      } finally {
        dropUnconfirmed(key)
      }
    },
    [conversationId, me],
  )
}

export const isPending = ({ id }: Entry): boolean => id.startsWith('zz-')
