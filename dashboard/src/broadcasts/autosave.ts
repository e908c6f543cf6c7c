/**
 * Saves a draft on the server while a member writes it.
 *
 * Saves run one after the other, and each sends what has changed since the last one. The first one creates the draft. What is not
 * saved when the page closes is saved then.
 */
import { useCallback, useEffect, useRef, useState } from 'react'
import { CallError, call, invalidate, newIdempotencyKey } from '../lib/api.ts'
import { contentOf, type Draft } from './use-draft.ts'

export type SaveState = 'new' | 'saving' | 'saved' | 'failed' | 'gone'

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

/** Browsers allow 64 KiB for all requests of a page that ends; a character has up to three bytes. */
const maxKeptLength = 20_000

export function useAutosave(draft: Draft, startId: string | undefined, onCreated: (id: string) => void): Autosave {
  const [state, setState] = useState<SaveState>(startId ? 'saved' : 'new')
  const [id, setId] = useState(startId)
  const now = useRef({ draft, saved: draft, id: startId, isOver: false, key: newIdempotencyKey(), onCreated })
  now.current.draft = draft
  now.current.onCreated = onCreated
  const queue = useRef<Promise<unknown>>(Promise.resolve())

  const save = useCallback(async (): Promise<void> => {
    const { draft, saved, id, isOver, key } = now.current
    if (draft === saved || isOver) return
    try {
      const body = contentOf(draft, id ? saved : undefined)
      // Survives the end of the page, but may not be large.
      const keepalive = JSON.stringify(body).length < maxKeptLength
      if (id) await call('PATCH /broadcasts/{id}/draft', { params: { id }, body, keepalive })
      else {
        const { data } = await call('POST /broadcasts/drafts', { body, idempotencyKey: key, keepalive })
        now.current.id = data.id
        setId(data.id)
        now.current.onCreated(data.id)
      }
      now.current.saved = draft
      if (now.current.draft === draft) setState('saved')
      void invalidate({ queryKey: ['GET /broadcasts'] })
    } catch (error) {
      // The next attempt has another content.
      now.current.key = newIdempotencyKey()
      setState(error instanceof CallError && error.status === 404 ? 'gone' : 'failed')
      throw error
    }
  }, [])

  const flush = useCallback((): Promise<string | undefined> => {
    const saving = queue.current.then(save)
    queue.current = saving.catch(() => {})
    return queue.current.then(() => now.current.id)
  }, [save])

  useEffect(() => {
    if (draft === now.current.saved || now.current.isOver) return
    setState('saving')
    const timer = setTimeout(() => void flush(), now.current.id ? delayMs : 0)
    return () => clearTimeout(timer)
  }, [draft, flush])

  // Another page of the dashboard opens, or the tab closes.
  useEffect(() => {
    const leave = () => void flush()
    window.addEventListener('pagehide', leave)
    return () => {
      window.removeEventListener('pagehide', leave)
      leave()
    }
  }, [flush])

  const end = useCallback(() => {
    now.current.isOver = true
  }, [])
  return { state, id, flush, end }
}
