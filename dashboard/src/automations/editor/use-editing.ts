/** The state of the editor: the history of definitions, the form that is open, and where the focus goes after an edit. */
import { useCallback, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { useCall } from '../../lib/api.ts'
import { useIsManager } from '../../lib/session.tsx'
import type { Automation } from '../automation.tsx'
import type { Editing, LineId } from './context.ts'
import { type Definition, isDefinition, type Step } from './model/definition.ts'
import { commit, redo, startHistory, undo } from './model/history.ts'
import { emptyDefinition } from './model/new-step.ts'
import { usedIds } from './model/options.ts'
import { changeStep, rootList } from './model/tree.ts'
import { useNames } from './use-names.ts'
import { startOf, useSaving } from './use-saving.ts'

export function useEditor(automation: Automation) {
  const canEdit = useIsManager()
  const [start] = useState(() => startOf(automation, canEdit, emptyDefinition))
  const [history, setHistory] = useState(() => startHistory(start.definition))
  const definition = history.present
  const change = useCallback((next: Definition, field?: string) => {
    setHistory((now) => commit(now, next, { field, at: Date.now() }))
  }, [])
  const onTheirs = useCallback(
    (content: unknown) => {
      const theirs = isDefinition(content) ? content : emptyDefinition
      change(theirs)
      return theirs
    },
    [change],
  )
  const saving = useSaving({ automation, definition, canEdit, isRestored: start.isRestored, onTheirs })
  const lines = useLines()
  const [clipboard, setClipboard] = useState<Step>()
  const [untouched, setUntouched] = useState<Definition>()
  const fields = useCall('GET /automations/fields', {}, { staleMs: Number.POSITIVE_INFINITY }).data
  const { members, teams, names } = useNames()
  const { definition: published } = automation
  const used = useMemo(() => usedIds(definition, published), [definition, published])
  const editing = useMemo(
    (): Editing => ({
      ...{ definition, change, canEdit, members, teams, names, used, clipboard, setClipboard, untouched, setUntouched },
      changeStep: (id, step, field) =>
        change(
          changeStep(definition, id, () => step),
          field && `${id} ${field}`,
        ),
      fault: saving.fault,
      fields: fields ?? [],
      ...lines,
    }),
    [definition, change, canEdit, members, teams, names, used, clipboard, untouched, saving.fault, fields, lines],
  )
  return {
    editing,
    saving,
    isRestored: start.isRestored,
    isReady: fields !== undefined,
    undo: history.past.length > 0 ? () => setHistory(undo) : undefined,
    redo: history.future.length > 0 ? () => setHistory(redo) : undefined,
  }
}

/** The line whose form is open. The focus moves after the render that shows its target. */
function useLines(): Pick<Editing, 'open' | 'select'> {
  const [open, setOpen] = useState<LineId>()
  const [focus, setFocus] = useState<{ id: LineId; part: 'form' | 'line' }>()
  useLayoutEffect(() => {
    if (!focus) return
    const selector = focus.part === 'line' ? `[data-line="${focus.id}"]` : `[data-form="${focus.id}"]`
    const target = document.querySelector<HTMLElement>(selector)
    // A step begins with its text, not with the kind of its message.
    const text = focus.id.startsWith(rootList) ? target?.querySelector<HTMLElement>('textarea') : null
    const field = text ?? target?.querySelector<HTMLElement>('textarea, input:not([type="radio"]), select, button')
    const focused = focus.part === 'line' ? target : field
    setFocus(undefined)
    const { activeElement: active } = document
    focused?.focus()
    if (focused && active?.ariaHasPopup === 'menu') focusAfterMenu(focused, active)
  }, [focus])
  const select = useCallback<Editing['select']>((id, next) => {
    setOpen(id)
    if (next) setFocus(next)
  }, [])
  return useMemo(() => ({ open, select }), [open, select])
}

const focusFrames = 6

/** A menu that closes returns the focus to its button some frames later. */
function focusAfterMenu(element: HTMLElement, button: Element, frames = focusFrames): void {
  const { activeElement: active } = document
  if (active === button || active === document.body) element.focus()
  if (frames > 0) requestAnimationFrame(() => focusAfterMenu(element, button, frames - 1))
}

/** Undo and redo by keys, wherever the focus is on the page. A field with `data-own-undo` has not applied its text yet. */
export function useUndoKeys(run: { undo: (() => void) | undefined; redo: (() => void) | undefined }): void {
  const latest = useRef(run)
  latest.current = run
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || document.querySelector('dialog[open]')) return
      if (event.target instanceof HTMLElement && event.target.closest('[data-own-undo]')) return
      const key = event.key.toLowerCase()
      const isRedo = key === 'y' || (key === 'z' && event.shiftKey)
      if (!isRedo && key !== 'z') return
      event.preventDefault()
      if (isRedo) latest.current.redo?.()
      else latest.current.undo?.()
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [])
}
