/** Beside the steps: what a member looks at while writing. Each entry of `parts` is a tab. */
import { type ReactNode, useState } from 'react'
import { SegmentedControl } from '../../../../ui/controls.tsx'
import { useCanWrite, useIsManager } from '../../lib/session.tsx'
import { automationDryRunWords } from '../../words/automation-dry-run.ts'
import { editorWords as text } from '../../words/automation-editor.ts'
import { automationPhoneWords } from '../../words/automation-phone.ts'
import type { Automation } from '../automation.tsx'
import { DryRun } from '../dry-run.tsx'
import { Phone } from '../phone.tsx'
import { useEditing } from './context.ts'
import type { Definition } from './model/definition.ts'
import { Versions } from './versions.tsx'

/** `from`: the first role that may use it; all when absent. */
type Part = {
  name: string
  label: string
  from?: 'agent' | 'admin'
  /** `definition`: as the editor shows it. */
  render: (automation: Automation, definition: Definition) => ReactNode
}

const parts: readonly Part[] = [
  {
    ...{ name: 'phone', label: automationPhoneWords.title, from: 'admin' },
    render: ({ id }, { steps }) => <Phone automationId={id} hasSteps={steps.length > 0} />,
  },
  {
    ...{ name: 'past', label: automationDryRunWords.tab, from: 'agent' },
    render: ({ id, updated_at }) => <DryRun automationId={id} updatedAt={updated_at} />,
  },
  { name: 'versions', label: text.versions.title, render: (automation) => <Versions automation={automation} /> },
]

export function SidePanel({ automation }: { automation: Automation }) {
  const { definition } = useEditing()
  const isManager = useIsManager()
  const canWrite = useCanWrite()
  const shown = parts.filter(({ from }) => (from === 'admin' ? isManager : canWrite || !from))
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
      {part.render(automation, definition)}
    </aside>
  )
}
