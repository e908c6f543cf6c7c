/** The frame of the pages of one automation: its name and state, the tabs, and the actions. */
import { type ReactNode, useState } from 'react'
import { IconButton } from '../../../ui/controls.tsx'
import { useIsManager } from '../lib/session.tsx'
import { Page, Tabs, ViewerNote } from '../ui/page.tsx'
import { automationWords } from '../words/automations.ts'
import { Actions } from './actions.tsx'
import { type Automation, type DraftState, StateBadge } from './automation.tsx'
import { RenameDialog } from './dialogs.tsx'

const { head: text } = automationWords

const back = { href: '/automations', label: automationWords.back }

type Props = {
  automation: Automation
  /** Of the editor. Other pages know only the saved draft. */
  draft?: DraftState
  children: ReactNode
}

export function AutomationPage({ automation, draft = {}, children }: Props) {
  const { id, name } = automation
  const isManager = useIsManager()
  const edit = { href: `/automations/${id}`, label: isManager ? text.edit : text.steps, isExact: true }
  return (
    <Page
      title={name}
      lead={<Lead automation={automation} hasChanges={draft.isChanged ?? automation.draft !== null} />}
      back={back}
      actions={isManager && <Actions automation={automation} draft={draft} />}
    >
      <ViewerNote />
      <Tabs label={text.tabs} items={[edit, { href: `/automations/${id}/runs`, label: text.runs }]} />
      {children}
    </Page>
  )
}

/** The state, the version and the description, below the name. */
function Lead({ automation, hasChanges }: { automation: Automation; hasChanges: boolean }) {
  const { state, version, description } = automation
  const [isRenaming, setRenaming] = useState(false)
  const isManager = useIsManager()
  return (
    <>
      <span className="line automations-lead">
        <StateBadge state={state} />
        {version > 0 && <span className="small">{text.version(version)}</span>}
        {hasChanges && version > 0 && <span className="small">{text.changed}</span>}
        {isManager && <IconButton label={text.rename} icon="edit" onClick={() => setRenaming(true)} />}
      </span>
      {description && <span className="automations-description">{description}</span>}
      {isRenaming && <RenameDialog automation={automation} onClose={() => setRenaming(false)} />}
    </>
  )
}
