/** The dialogs of an automation: name, pause, delete, secret of calls. */
import { useState } from 'react'
import { useLocation } from 'wouter'
import { InputField, TextAreaField } from '../../../ui/controls.tsx'
import { describeError, useChange } from '../lib/api.ts'
import { ConfirmCall, FormDialog, SecretDialog } from '../ui/dialogs.tsx'
import { Facts } from '../ui/facts.tsx'
import { editorWords } from '../words/automation-editor.ts'
import { automationWords } from '../words/automations.ts'
import { type Automation, maxDescription, maxName, staleCalls } from './automation.tsx'
import { readDefinition } from './definition.ts'
import { describeStart, describeStep } from './describe.ts'
import { isDefinition } from './editor/model/definition.ts'
import { describeConditions } from './editor/model/describe.ts'
import { useNames } from './editor/use-names.ts'

const { head: text } = automationWords

type Props = { automation: Automation; onClose: () => void }

export function RenameDialog({ automation, onClose }: Props) {
  const [name, setName] = useState(automation.name)
  const [description, setDescription] = useState(automation.description)
  const change = useChange('PATCH /automations/{id}', { stale: staleCalls, done: text.renamed, onDone: onClose })
  return (
    <FormDialog
      title={text.renameTitle}
      action={text.save}
      isBusy={change.isPending}
      error={change.error ? describeError(change.error) : undefined}
      onSubmit={() => change.mutate({ params: { id: automation.id }, body: { name, description } })}
      onClose={onClose}
    >
      <InputField
        label={text.name}
        hint={text.nameHint}
        required
        maxLength={maxName}
        value={name}
        onChange={({ target }) => setName(target.value)}
      />
      <TextAreaField
        label={text.description}
        hint={text.descriptionHint}
        rows={3}
        maxLength={maxDescription}
        value={description}
        onChange={({ target }) => setDescription(target.value)}
      />
    </FormDialog>
  )
}

/** What the saved draft does from now on. */
export function PublishDialog({ automation, action, onClose }: Props & { action: string }) {
  const { id, name, version, draft, definition, recent_runs: runs } = automation
  const published = draft ?? definition
  const [first] = published ? readDefinition(published).steps : []
  const { names } = useNames()
  const conditions = isDefinition(published) && published.conditions
  return (
    <ConfirmCall
      title={text.publishTitle(name)}
      action={action}
      call="POST /automations/{id}/publish"
      input={{ params: { id } }}
      stale={staleCalls}
      done={(automation) => text.published(automation.version)}
      onClose={onClose}
    >
      <div className="stack">
        <p>{version === 0 ? text.publishText : text.publishAgainText(runs.open)}</p>
        <Facts
          facts={{
            [text.publishStart]: describeStart(published, true),
            [editorWords.conditions]: conditions && describeConditions(conditions, names, published),
            [text.publishFirst]: first && describeStep(first.type, first),
          }}
        />
      </div>
    </ConfirmCall>
  )
}

/** Asks whether open runs end too. */
export function PauseDialog({ automation: { id, name, recent_runs: runs }, onClose }: Props) {
  const [endsRuns, setEndsRuns] = useState(false)
  const options = [
    { endsRuns: false, label: text.keepRuns, hint: text.keepRunsHint },
    { endsRuns: true, label: text.endRuns, hint: text.endRunsHint },
  ]
  return (
    <ConfirmCall
      title={text.pauseTitle(name)}
      text={text.pauseText}
      action={text.pause}
      call="POST /automations/{id}/pause"
      input={{ params: { id }, body: { end_runs: endsRuns } }}
      stale={staleCalls}
      done={text.paused}
      onClose={onClose}
    >
      <fieldset className="stack automations-choice">
        <legend className="label">{text.openRuns(runs.open)}</legend>
        {options.map((option) => (
          <label key={option.label} className="check">
            <input
              type="radio"
              name="open-runs"
              checked={option.endsRuns === endsRuns}
              onChange={() => setEndsRuns(option.endsRuns)}
            />
            <span>
              {option.label}
              <small>{option.hint}</small>
            </span>
          </label>
        ))}
      </fieldset>
    </ConfirmCall>
  )
}

export function DeleteDialog({ automation: { id, name, recent_runs: runs }, onClose }: Props) {
  const [, navigate] = useLocation()
  return (
    <ConfirmCall
      title={text.deleteTitle(name)}
      text={text.deleteText(runs.started)}
      action={text.delete}
      danger
      call="DELETE /automations/{id}"
      input={{ params: { id } }}
      stale={['GET /automations']}
      done={text.deleted}
      onDone={() => navigate('/automations', { replace: true })}
      onClose={onClose}
    >
      {runs.open > 0 && <p>{text.deleteOpen(runs.open)}</p>}
    </ConfirmCall>
  )
}

/** Replaces the secret that signs the calls, and shows the new one once. */
export function SecretReplacement({ id, onClose }: { id: string; onClose: () => void }) {
  const [secret, setSecret] = useState('')
  if (secret) {
    return (
      <SecretDialog
        title={text.rotatedTitle}
        warning={text.rotatedText}
        secret={secret}
        done={text.rotatedDone}
        onDone={onClose}
      />
    )
  }
  return <SecretQuestion id={id} onReplaced={setSecret} onClose={onClose} />
}

type QuestionProps = { id: string; onReplaced: (secret: string) => void; onClose: () => void }

function SecretQuestion({ id, onReplaced, onClose }: QuestionProps) {
  const rotate = useChange('POST /automations/{id}/rotate-secret', { onDone: ({ secret }) => onReplaced(secret) })
  return (
    <FormDialog
      title={text.rotateTitle}
      action={text.rotateAction}
      danger
      isBusy={rotate.isPending}
      isHeld
      error={rotate.error ? describeError(rotate.error) : undefined}
      onSubmit={() => rotate.mutate({ params: { id } })}
      onClose={onClose}
    >
      <p>{text.rotateText}</p>
    </FormDialog>
  )
}
