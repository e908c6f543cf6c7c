/**
 * Saves the definition as the draft while a member edits it.
 *
 * The service stores only complete definitions. One that it refuses stays in the browser (`model/kept.ts`) with the fault that it named,
 * and so does one that the connection lost. Saves run one after the other. Each names the state that was edited, so that the change of
 * another member is not overwritten: then the member decides.
 */
import { useCallback, useEffect, useRef, useState } from 'react'
import { CallError, call, describeError, invalidate, isNotFound, queryClient } from '../../lib/api.ts'
import { mayOutlivePage, saveDelayMs, useFlushOnLeave, useRetry } from '../../lib/autosave.ts'
import type { Automation } from '../automation.tsx'
import { type Definition, isDefinition } from './model/definition.ts'
import { isSame } from './model/diff.ts'
import { type Fault, readFault } from './model/fault.ts'
import { forget, keep, readKept } from './model/kept.ts'

type SaveState =
  | { kind: 'saved' | 'saving' | 'invalid' | 'retrying' | 'gone' }
  | { kind: 'refused'; reason: string }
  | { kind: 'conflict'; theirs: Automation }

export type Saving = {
  state: SaveState
  fault: Fault | undefined
  /** Saves what is not saved yet. Returns whether all is saved. */
  flush: () => Promise<boolean>
  /** After a conflict: the draft of the other member is replaced. */
  keepMine: () => void
  /** The saved draft, instead of the edits. */
  takeTheirs: () => void
}

export const contentOf = ({ draft, definition }: Automation): unknown => draft ?? definition
const textOf = (automation: Automation): string => JSON.stringify(contentOf(automation))

type Options = {
  automation: Automation
  definition: Definition
  /** Whether the member may change it. */
  canEdit: boolean
  /** What was restored from the browser is not saved. */
  isRestored: boolean
  /** Shows the definition of another member. Returns it as the page keeps it. */
  onTheirs: (content: unknown) => Definition
}

export function useSaving({ automation, definition, canEdit, isRestored, onTheirs }: Options): Saving {
  const { id } = automation
  const [state, setState] = useState<SaveState>({ kind: 'saved' })
  const [fault, setFault] = useState<Fault>()
  const [start] = useState(() => (isRestored ? readKept(id) : undefined))
  const now = useRef({
    definition,
    /** The definition that the service has; undefined: that of `saved`. */
    savedDefinition: isRestored ? undefined : definition,
    base: start?.base ?? automation.updated_at,
    saved: start?.saved ?? textOf(automation),
    isOver: !canEdit,
    theirs: automation,
  })
  now.current.definition = definition
  now.current.theirs = automation
  const queue = useRef<Promise<unknown>>(Promise.resolve())

  const settle = useCallback(
    (sent: Definition, saved: Automation) => {
      const { current } = now
      Object.assign(current, { base: saved.updated_at, saved: textOf(saved), savedDefinition: sent })
      queryClient.setQueryData(['GET /automations/{id}', { params: { id } }], saved)
      void invalidate({ queryKey: ['GET /automations'] })
      void invalidate({ queryKey: ['GET /automations/{id}/preview'] })
      setFault(undefined)
      if (current.definition !== sent) return
      forget(id)
      setState({ kind: 'saved' })
    },
    [id],
  )

  /** Returns whether the next attempt follows at once. */
  const handle = useCallback(
    async (error: unknown, sent: Definition): Promise<boolean> => {
      const { current } = now
      if (isNotFound(error)) {
        current.isOver = true
        setState({ kind: 'gone' })
        return false
      }
      if (!(error instanceof CallError) || error.status >= 500 || error.status === 429) {
        setState({ kind: 'retrying' })
        return false
      }
      if (error.status !== 400) {
        setState({ kind: 'refused', reason: describeError(error) })
        return false
      }
      if (!error.message.startsWith('if_updated_at')) {
        setFault(readFault(error.message, sent))
        setState({ kind: 'invalid' })
        return false
      }
      const { data: theirs } = await call('GET /automations/{id}', { params: { id } })
      // The response to an earlier save was lost, or only the name or the state has changed.
      if (isSame(contentOf(theirs), sent)) settle(sent, theirs)
      else if (textOf(theirs) === current.saved) current.base = theirs.updated_at
      else {
        setState({ kind: 'conflict', theirs })
        return false
      }
      return true
    },
    [id, settle],
  )

  const save = useCallback(async (): Promise<void> => {
    const { current } = now
    while (current.definition !== current.savedDefinition && !current.isOver) {
      const sent = current.definition
      try {
        const keepalive = mayOutlivePage(sent)
        const query = { if_updated_at: current.base }
        const { data } = await call('PUT /automations/{id}/draft', { params: { id }, query, body: sent, keepalive })
        settle(sent, data)
      } catch (error) {
        const goesOn = await handle(error, sent).catch(() => {
          setState({ kind: 'retrying' })
          return false
        })
        if (!goesOn) return
      }
    }
  }, [id, settle, handle])

  const flush = useCallback((): Promise<boolean> => {
    queue.current = queue.current.then(save)
    return queue.current.then(() => now.current.definition === now.current.savedDefinition)
  }, [save])

  const isConflict = state.kind === 'conflict'
  useEffect(() => {
    const { current } = now
    if (current.isOver) return
    if (definition === current.savedDefinition) {
      // Undone, back to what is saved.
      forget(id)
      setFault(undefined)
      setState({ kind: 'saved' })
      return
    }
    keep(id, { definition, base: current.base, saved: current.saved })
    // The member decides first.
    if (isConflict) return
    setState({ kind: 'saving' })
    const timer = setTimeout(() => void flush(), saveDelayMs)
    return () => clearTimeout(timer)
  }, [id, definition, isConflict, flush])

  useRetry(state.kind === 'retrying', flush)
  useFlushOnLeave(flush)

  const adopt = useCallback(
    (theirs: Automation) => {
      const content = contentOf(theirs)
      const shown = onTheirs(content)
      Object.assign(now.current, {
        ...{ base: theirs.updated_at, saved: JSON.stringify(content) },
        ...{ savedDefinition: shown, definition: shown },
      })
      forget(id)
      setFault(undefined)
      setState({ kind: 'saved' })
    },
    [id, onTheirs],
  )

  // The automation was renamed, published or paused, or another member has edited it.
  useEffect(() => {
    const { current } = now
    if (automation.updated_at <= current.base) return
    if (textOf(automation) === current.saved) current.base = automation.updated_at
    else if (current.definition === current.savedDefinition) adopt(automation)
  }, [automation, adopt])

  const keepMine = useCallback(() => {
    if (state.kind !== 'conflict') return
    Object.assign(now.current, { base: state.theirs.updated_at, saved: textOf(state.theirs) })
    setState({ kind: 'saving' })
    void flush()
  }, [state, flush])

  const takeTheirs = useCallback(() => {
    adopt(state.kind === 'conflict' ? state.theirs : now.current.theirs)
  }, [state, adopt])

  return { state, fault, flush, keepMine, takeTheirs }
}

/** What the page shows first: the definition in the browser if the member may save it, else that of the service. */
export function startOf(automation: Automation, canEdit: boolean, empty: Definition) {
  const kept = canEdit ? readKept(automation.id) : undefined
  const content = contentOf(automation)
  const stored = isDefinition(content) ? content : empty
  const isRestored = kept !== undefined && !isSame(kept.definition, stored)
  return { definition: isRestored ? kept.definition : stored, isRestored }
}
