/** The actions of an automation in its state: publish or resume as a button, pause beside it, the others in a menu. */
import { type ReactNode, useId, useState } from 'react'
import { useLocation } from 'wouter'
import { Button, IconButton } from '../../../ui/controls.tsx'
import { Menu } from '../../../ui/menu.tsx'
import { useChange } from '../lib/api.ts'
import { automationWords } from '../words/automations.ts'
import { type Automation, type DraftState, maxName, staleCalls } from './automation.tsx'
import { DeleteDialog, PauseDialog, PublishDialog, RenameDialog, SecretReplacement } from './dialogs.tsx'

const { head: text } = automationWords

type DialogName = 'pause' | 'rename' | 'secret' | 'delete'

export function Actions({ automation, draft }: { automation: Automation; draft: DraftState }) {
  const [dialog, setDialog] = useState<DialogName>()
  const duplicate = useDuplicate(automation)
  const close = () => setDialog(undefined)
  const dialogs: Record<DialogName, ReactNode> = {
    pause: <PauseDialog automation={automation} onClose={close} />,
    rename: <RenameDialog automation={automation} onClose={close} />,
    secret: <SecretReplacement id={automation.id} onClose={close} />,
    delete: <DeleteDialog automation={automation} onClose={close} />,
  }
  return (
    <>
      <PublishButton automation={automation} draft={draft} />
      {automation.state === 'active' && <Button label={text.pause} icon="pause" onClick={() => setDialog('pause')} />}
      <Menu
        label={text.more}
        button={<IconButton label={text.more} icon="more" size="medium" />}
        items={[
          { icon: 'edit', label: text.rename, onSelect: () => setDialog('rename') },
          { icon: 'copy', label: text.duplicate, onSelect: duplicate },
          { icon: 'key', label: text.rotate, onSelect: () => setDialog('secret') },
          { kind: 'separator' },
          { icon: 'trash', label: text.delete, danger: true, onSelect: () => setDialog('delete') },
        ]}
      />
      {dialog && dialogs[dialog]}
    </>
  )
}

/** Publishes the draft after a question, when the editor has saved it. Without a draft it resumes a paused automation. */
function PublishButton({ automation, draft }: { automation: Automation; draft: DraftState }) {
  const { id, state, version } = automation
  const hintId = useId()
  const [isSaving, setSaving] = useState(false)
  const hasDraft = draft.isChanged ?? automation.draft !== null
  const isResumed = state === 'paused' && !hasDraft
  const [isAsking, setAsking] = useState(false)
  const resume = useChange('POST /automations/{id}/publish', {
    stale: staleCalls,
    done: text.resumed,
    reportsError: true,
  })
  const blocked = isResumed ? undefined : hasDraft ? draft.blocked : version === 0 ? text.empty : text.nothing
  const run = async () => {
    if (isResumed) return resume.mutate({ params: { id } })
    setSaving(true)
    const isSaved = (await draft.flush?.()) ?? true
    setSaving(false)
    if (isSaved) setAsking(true)
  }
  const label = isResumed ? text.resume : state === 'paused' ? text.publishAndResume : text.publish
  return (
    <>
      {blocked && (
        <span id={hintId} className="soft small automations-blocked">
          {blocked}
        </span>
      )}
      <Button
        label={label}
        variant="primary"
        icon={isResumed ? 'play' : 'check'}
        busy={isSaving || resume.isPending}
        disabled={blocked !== undefined}
        aria-describedby={blocked ? hintId : undefined}
        onClick={() => void run()}
      />
      {isAsking && <PublishDialog automation={automation} action={label} onClose={() => setAsking(false)} />}
    </>
  )
}

/** Creates a draft with the same definition, and opens it. */
function useDuplicate({ name, description, draft, definition }: Automation): () => void {
  const [, navigate] = useLocation()
  const create = useChange('POST /automations', {
    stale: ['GET /automations'],
    done: (created) => text.duplicated(created.name),
    onDone: ({ id }) => navigate(`/automations/${id}`),
    reportsError: true,
  })
  const copied = draft ?? definition
  const body = {
    name: [...text.copyOf(name)].slice(0, maxName).join(''),
    description,
    ...(copied ? { definition: copied } : {}),
  }
  return () => create.mutate({ body })
}
