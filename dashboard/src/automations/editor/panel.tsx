/** Beside the steps: what a member looks at while writing. Each entry of `parts` is a tab. */
import { type ReactNode, useState } from 'react'
import { SegmentedControl } from '../../../../ui/controls.tsx'
import { editorWords as text } from '../../words/automation-editor.ts'
import type { Automation } from '../automation.tsx'
import { Versions } from './versions.tsx'

type Part = { name: string; label: string; render: (automation: Automation) => ReactNode }

const parts: readonly [Part, ...Part[]] = [
  { name: 'versions', label: text.versions.title, render: (automation) => <Versions automation={automation} /> },
]

export function SidePanel({ automation }: { automation: Automation }) {
  const [name, setName] = useState(parts[0].name)
  const part = parts.find((each) => each.name === name) ?? parts[0]
  return (
    <aside className="card editor-panel" aria-label={text.panel}>
      {parts.length > 1 ? (
        <SegmentedControl
          label={text.panel}
          value={part.name}
          options={parts.map((each) => ({ value: each.name, label: each.label }))}
          onChange={setName}
        />
      ) : (
        <h2>{part.label}</h2>
      )}
      {part.render(automation)}
    </aside>
  )
}
