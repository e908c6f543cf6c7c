/** Beside the steps: what a member looks at while writing. Each entry of `parts` is a tab. */
import { type ReactNode, useState } from 'react'
import { SegmentedControl } from '../../../../ui/controls.tsx'
import { automationDryRunWords } from '../../words/automation-dry-run.ts'
import { editorWords as text } from '../../words/automation-editor.ts'
import { automationPhoneWords } from '../../words/automation-phone.ts'
import type { Automation } from '../automation.tsx'
import { DryRun } from '../dry-run.tsx'
import { Phone } from '../phone.tsx'
import { useEditing } from './context.ts'
import { Versions } from './versions.tsx'

/** `forEditors`: members who may not change the automation do not have it. */
type Part = { name: string; label: string; forEditors?: true; render: (automation: Automation) => ReactNode }

const parts: readonly Part[] = [
  {
    ...{ name: 'phone', label: automationPhoneWords.title, forEditors: true as const },
    render: ({ id }) => <Phone automationId={id} />,
  },
  {
    ...{ name: 'past', label: automationDryRunWords.tab },
    render: ({ id, updated_at }) => <DryRun automationId={id} updatedAt={updated_at} />,
  },
  { name: 'versions', label: text.versions.title, render: (automation) => <Versions automation={automation} /> },
]

export function SidePanel({ automation }: { automation: Automation }) {
  const { canEdit } = useEditing()
  const shown = parts.filter(({ forEditors }) => canEdit || !forEditors)
  const [name, setName] = useState(shown[0]?.name)
  const part = shown.find((each) => each.name === name)
  if (!part) return null
  return (
    <aside className="card editor-panel" aria-label={text.panel}>
      <SegmentedControl
        label={text.panel}
        value={part.name}
        options={shown.map((each) => ({ value: each.name, label: each.label }))}
        onChange={setName}
      />
      {part.render(automation)}
    </aside>
  )
}
