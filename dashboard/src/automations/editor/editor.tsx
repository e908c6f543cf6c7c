/** The editor of an automation: its steps as an outline, a drawing or JSON, and beside them what helps while writing. */
import './editor.css'
import { useState } from 'react'
import { Button, IconButton, SegmentedControl } from '../../../../ui/controls.tsx'
import { EmptyState, Note, Skeleton } from '../../../../ui/display.tsx'
import { Confirm } from '../../../../ui/overlays.tsx'
import { LeaveGuard } from '../../ui/leave-guard.tsx'
import { editorWords as text } from '../../words/automation-editor.ts'
import { words } from '../../words/words.ts'
import type { Automation, DraftState } from '../automation.tsx'
import { AutomationPage } from '../head.tsx'
import { EditingContext } from './context.ts'
import { Drawing } from './drawing.tsx'
import { JsonView, readTyped } from './json.tsx'
import { isDefinition } from './model/definition.ts'
import { isSame } from './model/diff.ts'
import { forgetText } from './model/kept.ts'
import { Outline } from './outline.tsx'
import { SidePanel } from './panel.tsx'
import { useEditor, useUndoKeys } from './use-editing.ts'
import { contentOf, type Saving } from './use-saving.ts'

const views = ['outline', 'drawing', 'json'] as const
type View = (typeof views)[number]

export function Editor({ automation }: { automation: Automation }) {
  const { editing, saving, isRestored, isReady, undo, redo } = useEditor(automation)
  const { definition, canEdit, select } = editing
  const content = contentOf(automation)
  const isReadable = content === null || isDefinition(content)
  const shown = isReadable ? definition : content
  const [typed, setTyped] = useState(() => (canEdit ? readTyped(automation.id, shown) : undefined))
  const [view, setView] = useState<View>(isReadable && !typed ? 'outline' : 'json')
  const isInvalidJson = typed?.error !== undefined
  const [next, setNext] = useState<View>()
  const show = (chosen: View) => {
    if (isInvalidJson) forgetText(automation.id)
    setTyped(undefined)
    setNext(undefined)
    setView(chosen)
  }
  useUndoKeys({ undo, redo })
  const { state } = saving
  const isUnsaved = state.kind !== 'saved' && state.kind !== 'saving'
  // A definition that is the published one again needs no publication.
  const hasChange = !isSame(definition, automation.definition) && (automation.draft !== null || state.kind !== 'saved')
  const isChanged = isInvalidJson || hasChange
  const blocked = isInvalidJson ? { blocked: text.blocked.json } : blockedBy(saving)
  const draft: DraftState = { isChanged, flush: saving.flush, ...blocked }
  const showStep = (id: string) => {
    show('outline')
    select(id, { id, part: 'line' })
  }
  return (
    <AutomationPage automation={automation} draft={draft}>
      <LeaveGuard isChanged={isInvalidJson || (isUnsaved && state.kind !== 'gone')} text={text.leave} />
      {next && (
        <Confirm
          title={words.common.discard.title}
          action={words.common.discard.discard}
          cancel={words.common.discard.keep}
          danger
          onConfirm={() => show(next)}
          onClose={() => setNext(undefined)}
        >
          <p>{text.json.discard}</p>
        </Confirm>
      )}
      <EditingContext value={editing}>
        <div className="editor">
          <div className="editor-main stack">
            <div className="editor-bar">
              <SegmentedControl
                label={text.view}
                value={view}
                options={views.map((value) => ({ value, label: text.views[value] }))}
                onChange={(chosen) => (isInvalidJson ? setNext(chosen) : show(chosen))}
              />
              {canEdit && (
                <span className="line">
                  <IconButton icon="undo" label={text.undo} disabled={!undo} onClick={undo} />
                  <IconButton icon="redo" label={text.redo} disabled={!redo} onClick={redo} />
                </span>
              )}
              {canEdit && <SaveStatus {...{ saving, isInvalidJson }} onShow={showStep} />}
            </div>
            {!canEdit && <Note icon="lock">{text.readOnly}</Note>}
            <SavingNotes saving={saving} isRestored={isRestored} />
            {!isReadable && view !== 'json' ? (
              <EmptyState icon="alert" title={text.unreadable.title} text={text.unreadable.text} />
            ) : !isReady ? (
              <Skeleton />
            ) : view === 'outline' ? (
              <Outline />
            ) : view === 'drawing' ? (
              <Drawing onSelect={showStep} />
            ) : (
              <JsonView id={automation.id} content={shown} typed={typed} onType={setTyped} />
            )}
          </div>
          <SidePanel automation={automation} />
        </div>
      </EditingContext>
    </AutomationPage>
  )
}

/** Why the draft cannot be published. */
function blockedBy({ state, fault }: Saving): Pick<DraftState, 'blocked'> {
  if (state.kind === 'conflict' || state.kind === 'gone') return { blocked: text.blocked[state.kind] }
  if (state.kind === 'refused' || state.kind === 'retrying') return { blocked: text.blocked.retrying }
  return fault ? { blocked: text.blocked.invalid } : {}
}

type StatusProps = { saving: Saving; isInvalidJson: boolean; onShow: (id: string) => void }

function SaveStatus({ saving: { state, fault }, isInvalidJson, onShow }: StatusProps) {
  if (isInvalidJson) {
    return (
      <span className="editor-state small" data-failed="">
        <span role="status">{text.saving.json}</span>
      </span>
    )
  }
  // While the next attempt runs, the draft is as incomplete as before.
  const kind = state.kind === 'saving' && fault ? 'invalid' : state.kind
  const isFailed = kind !== 'saved' && kind !== 'saving'
  return (
    <span className="editor-state small" data-failed={isFailed ? '' : undefined}>
      <span role="status">{state.kind === 'refused' ? text.saving.refused(state.reason) : labelOf(kind)}</span>
      {kind === 'invalid' && fault && fault.owner !== '' && (
        <Button label={text.saving.show} size="small" variant="quiet" onClick={() => onShow(fault.owner)} />
      )}
    </span>
  )
}

const labelOf = (kind: Exclude<Saving['state']['kind'], 'refused'> | 'refused'): string =>
  kind === 'refused' ? text.saving.retrying : text.saving[kind]

/** The decisions of the member about edits that are not saved. */
function SavingNotes({ saving, isRestored }: { saving: Saving; isRestored: boolean }) {
  const { state, fault } = saving
  if (state.kind === 'conflict') {
    return (
      <Note tone="amber">
        <p>{text.conflict.text}</p>
        <div className="row">
          <Button label={text.conflict.takeTheirs} size="small" onClick={saving.takeTheirs} />
          <Button label={text.conflict.keepMine} size="small" onClick={saving.keepMine} />
        </div>
      </Note>
    )
  }
  if (isRestored && fault) {
    return (
      <Note tone="blue">
        <p>{text.saving.restored}</p>
        <Button label={text.saving.discard} size="small" onClick={saving.takeTheirs} />
      </Note>
    )
  }
  return fault && fault.owner === '' ? <Note tone="amber">{fault.message}</Note> : null
}
