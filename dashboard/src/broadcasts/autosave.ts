/**
 * Saves a draft on the server while a member writes it.
 *
 * Saves run one after the other, and each sends what has changed since the last one. The first one creates the draft; it is repeated
 * with the same content and key until the service has answered, so that a lost response makes no second draft. A save that the
 * connection lost is repeated. What is not saved when the page closes is saved then.
 */
import { useCallback, useEffect, useRef, useState } from 'react'
import { CallError, call, invalidate, isNotFound, newIdempotencyKey } from '../lib/api.ts'
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

/** After the last change. The first change creates the draft at once, so that a reload finds it. */
const delayMs = 600
const retryMs = 5_000

/** Browsers allow 64 KiB for all requests of a page that ends; a character has up to three bytes. */
const maxKeptLength = 20_000

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
        // Survives the end of the page, but may not be large.
        const keepalive = JSON.stringify(body).length < maxKeptLength
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
    const timer = setTimeout(() => void flush(), now.current.id ? delayMs : 0)
    return () => clearTimeout(timer)
  }, [draft, flush])

  useEffect(() => {
    if (state !== 'retrying') return
    const retry = () => void flush()
    const timer = setInterval(retry, retryMs)
    window.addEventListener('online', retry)
    return () => {
      clearInterval(timer)
      window.removeEventListener('online', retry)
    }
  }, [state, flush])

  // Another page of the dashboard opens, or the tab closes.
  useEffect(() => {
    const { current } = now
    const leave = () => void flush()
    current.isOpen = true
    window.addEventListener('pagehide', leave)
    return () => {
      current.isOpen = false
      window.removeEventListener('pagehide', leave)
      leave()
    }
  }, [flush])

  const end = useCallback(() => {
    now.current.isOver = true
  }, [])
  return { state, id, flush, end }
}
