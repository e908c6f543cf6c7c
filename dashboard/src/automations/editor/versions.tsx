/** The published versions, what distinguishes each from the definition that is edited, and how it comes back. */
import { useState } from 'react'
import { Button } from '../../../../ui/controls.tsx'
import { Badge } from '../../../../ui/display.tsx'
import { useToast } from '../../../../ui/overlays.tsx'
import { type ItemOf, useCall } from '../../lib/api.ts'
import { formatTime } from '../../lib/time.ts'
import { QueryView } from '../../ui/page.tsx'
import { Time } from '../../ui/time.tsx'
import { editorWords } from '../../words/automation-editor.ts'
import type { Automation } from '../automation.tsx'
import { useEditing } from './context.ts'
import { isDefinition } from './model/definition.ts'
import { compare, type Difference } from './model/diff.ts'

const { versions: text } = editorWords

type Version = ItemOf<'GET /automations/{id}/versions'>

export function Versions({ automation }: { automation: Automation }) {
  const versions = useCall('GET /automations/{id}/versions', { params: { id: automation.id } })
  const [open, setOpen] = useState<number>()
  return (
    <QueryView query={versions} lines={3}>
      {(list) =>
        list.length === 0 ? (
          <p className="soft">{text.none}</p>
        ) : (
          <ol className="versions">
            {list.map((version) => (
              <VersionItem
                key={version.version}
                version={version}
                isNewest={version.version === automation.version}
                isOpen={open === version.version}
                onToggle={() => setOpen(open === version.version ? undefined : version.version)}
              />
            ))}
          </ol>
        )
      }
    </QueryView>
  )
}

type ItemProps = { version: Version; isNewest: boolean; isOpen: boolean; onToggle: () => void }

function VersionItem({ version, isNewest, isOpen, onToggle }: ItemProps) {
  return (
    <li>
      <button type="button" className="version" aria-expanded={isOpen} onClick={onToggle}>
        <span className="line">
          <strong>{text.version(version.version)}</strong>
          {isNewest && <Badge>{text.active}</Badge>}
        </span>
        <span className="soft small">
          <Time at={version.published_at} format={formatTime} /> · {text.by(version.published_by)}
        </span>
      </button>
      {isOpen && <Comparison version={version} />}
    </li>
  )
}

function Comparison({ version: { version, definition: published } }: { version: Version }) {
  const { definition, change, canEdit, names } = useEditing()
  const toast = useToast()
  if (!isDefinition(published)) return null
  const differences = compare(published, definition, names)
  const restore = () => {
    change(published)
    toast.success(text.restored(version))
  }
  return (
    <div className="stack stack-tight version-detail">
      {differences.length === 0 ? (
        <p className="soft small">{text.same}</p>
      ) : (
        <>
          <p className="soft small">{text.difference}</p>
          <ul className="version-lines small">
            {differences.map((difference, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the lines have no identity but their position.
              <DifferenceLines key={index} difference={difference} />
            ))}
          </ul>
        </>
      )}
      {canEdit && differences.length > 0 && (
        <div className="row">
          <Button label={text.restore} icon="undo" size="small" onClick={restore} />
        </div>
      )}
    </div>
  )
}

function DifferenceLines({ difference: { before, after } }: { difference: Difference }) {
  const isChange = before !== undefined && after !== undefined
  return (
    <li>
      {before !== undefined && (
        <p data-side="removed">
          <span className="offscreen">{isChange ? text.was : text.removed}: </span>
          <del>{before}</del>
        </p>
      )}
      {after !== undefined && (
        <p data-side="added">
          <span className="offscreen">{isChange ? text.is : text.added}: </span>
          <ins>{after}</ins>
        </p>
      )}
    </li>
  )
}
