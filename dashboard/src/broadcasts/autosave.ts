/**
 * Saves a draft on the server while a member writes it.
 *
 * Saves run one after the other, and each sends what has changed since the last one. The first one creates the draft; it is repeated
 * with the same content and key until the service has answered, so that a lost response makes no second draft. A save that the
 * connection lost is repeated. What is not saved when the page closes is saved then.
 */
import { useCallback, useEffect, useRef, useState } from 'react'
import { CallError, call, invalidate, isNotFound, newIdempotencyKey } from '../lib/api.ts'
import { mayOutlivePage, saveDelayMs, useFlushOnLeave, useRetry } from '../lib/autosave.ts'
import { contentOf, type Draft } from './use-draft.ts'

export type SaveState = 'new' | 'saving' | 'saved' | 'retrying' | 'refused' | 'gone'

export type Autosave = {
  state: SaveState
  /** Undefined until the draft was saved. */
  id: string | undefined
  /** Saves what is not saved yet. Returns the id of the draft, if there is one. */
  flush: () => Promise<string | undefined>
  /** From now on nothing is saved: the draft was sent or deleted. */
  end: () => void
}

/** `onCreated`: the service has a new draft, and the page is still open. */
export function useAutosave(draft: Draft, startId: string | undefined, onCreated: (id: string) => void): Autosave {
  const [state, setState] = useState<SaveState>(startId ? 'saved' : 'new')
  const [id, setId] = useState(startId)
  const now = useRef({
    draft,
    saved: draft,
    id: startId,
    isOver: false,
    isOpen: true,
    /** The first save, until the service has answered. */
    creation: undefined as { draft: Draft; key: string } | undefined,
    onCreated,
  })
  now.current.draft = draft
  now.current.onCreated = onCreated
  const queue = useRef<Promise<unknown>>(Promise.resolve())

  const save = useCallback(async (): Promise<void> => {
    const { current } = now
    while (current.draft !== current.saved && !current.isOver) {
      const creation = current.id ? undefined : (current.creation ?? { draft: current.draft, key: newIdempotencyKey() })
      current.creation = creation
      const sent = creation?.draft ?? current.draft
      try {
        const body = contentOf(sent, current.id ? current.saved : undefined)
        const keepalive = mayOutlivePage(body)
        if (creation) {
          const { data } = await call('POST /broadcasts/drafts', { body, idempotencyKey: creation.key, keepalive })
          current.creation = undefined
          current.id = data.id
          setId(data.id)
          if (current.isOpen) current.onCreated(data.id)
        } else if (current.id && Object.keys(body).length > 0) {
          await call('PATCH /broadcasts/{id}/draft', { params: { id: current.id }, body, keepalive })
        }
        current.saved = sent
        if (current.draft === sent) setState('saved')
        void invalidate({ queryKey: ['GET /broadcasts'] })
      } catch (error) {
        const isRefused = error instanceof CallError && error.status < 500
        // The next attempt has another content.
        if (isRefused) current.creation = undefined
        if (isNotFound(error)) current.isOver = true
        setState(isNotFound(error) ? 'gone' : isRefused ? 'refused' : 'retrying')
        return
      }
    }
  }, [])

  const flush = useCallback((): Promise<string | undefined> => {
    queue.current = queue.current.then(save)
    return queue.current.then(() => now.current.id)
  }, [save])

  useEffect(() => {
    if (draft === now.current.saved || now.current.isOver) return
    setState('saving')
    // The first change creates the draft at once, so that a reload finds it.
    const timer = setTimeout(() => void flush(), now.current.id ? saveDelayMs : 0)
    return () => clearTimeout(timer)
  }, [draft, flush])

  useRetry(state === 'retrying', flush)
  // Before `useFlushOnLeave`: what it saves is of a page that is not open.
  useEffect(() => {
    const { current } = now
    current.isOpen = true
    return () => {
      current.isOpen = false
    }
  }, [])
  useFlushOnLeave(flush)

  const end = useCallback(() => {
    now.current.isOver = true
  }, [])
  return { state, id, flush, end }
}
