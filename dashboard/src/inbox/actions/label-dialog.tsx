/** Adds and removes labels of one conversation or many, and creates labels. Enter toggles the first match. */

import { useEffect, useState } from 'react'
import { Link } from 'wouter'
import { Button, Form, SearchInput } from '../../../../ui/controls.tsx'
import { useCall } from '../../lib/api.ts'
import { QueryState } from '../../ui/page.tsx'
import { type Anchor, Popover } from '../../ui/popover.tsx'
import { words } from '../../words/words.ts'
import { type Label, useChanges } from '../model/changes.ts'
import { findConversation } from '../model/conversations.ts'
import { moveBetweenChoices } from './snooze-dialog.tsx'

const { flow } = words.inbox

type Props = { ids: readonly string[]; anchor: Anchor | undefined; onClose: () => void }

export default function LabelDialog({ ids, anchor, onClose }: Props) {
  const labels = useCall('GET /labels', {})
  const { setLabel } = useChanges()
  const [text, setText] = useState('')
  // The state of the dialog: the conversations may leave the list meanwhile.
  const [counts, setCounts] = useState(() => countLabels(ids))
  const [created, setCreated] = useState<readonly Label[]>([])
  const name = text.trim()
  const isNamed = (label: Label) => label.name.toLowerCase() === name.toLowerCase()
  // A label that was created here is listed before the service has answered.
  const known = labels.data ?? []
  const all = [...known, ...created.filter((one) => !known.some(({ name: other }) => other === one.name))]
  const shown = all.filter((label) => label.name.toLowerCase().includes(name.toLowerCase()))
  const toggle = (label: Label) => {
    const isOn = counts.get(label.name) !== ids.length
    setCounts(new Map(counts).set(label.name, isOn ? ids.length : 0))
    setLabel(ids, label, isOn)
  }
  const create = () => {
    // The service chooses the id and the color.
    const label = { id: name, name, color: '#64748b' }
    setCreated([...created, label])
    toggle(label)
    setText('')
  }
  const enter = () => {
    const match = shown.find(isNamed) ?? shown[0]
    if (!match) return create()
    toggle(match)
    setText('')
  }
  // Enter waits for the labels: otherwise it would create a label with the first letters of an existing one.
  const [isEntered, setEntered] = useState(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: `enter` is that of the same render.
  useEffect(() => {
    if (!isEntered || !labels.data) return
    setEntered(false)
    enter()
  }, [isEntered, labels.data])
  const submit = () => {
    if (!name) onClose()
    else if (labels.data) enter()
    else setEntered(true)
  }
  return (
    <Popover title={flow.labelsOf(ids.length)} anchor={anchor} onClose={onClose}>
      <Form onSubmit={submit}>
        {/* The dialog focuses its first input. */}
        <SearchInput
          label={flow.labelSearch}
          value={text}
          maxLength={80}
          autoComplete="off"
          onChange={(event) => setText(event.target.value)}
          onKeyDown={moveBetweenChoices}
        />
      </Form>
      {!labels.data && <QueryState query={labels} lines={3} />}
      {labels.data && all.length === 0 && !name && <p className="hint">{flow.noLabels}</p>}
      <ul className="inbox-choices" onKeyDown={moveBetweenChoices}>
        {shown.map((label) => {
          const count = counts.get(label.name) ?? 0
          return (
            <li key={label.id}>
              <label>
                <input
                  type="checkbox"
                  checked={count === ids.length}
                  ref={(box) => {
                    if (box) box.indeterminate = count > 0 && count < ids.length
                  }}
                  onChange={() => toggle(label)}
                />
                <LabelDot color={label.color} />
                {label.name}
              </label>
            </li>
          )
        })}
      </ul>
      {name && !shown.some(isNamed) && <Button label={flow.createLabel(name)} icon="plus" onClick={create} />}
      <div className="dialog-foot">
        <Link href="/settings/labels" className="inbox-foot-link" onClick={onClose}>
          {flow.manageLabels}
        </Link>
        <Button label={flow.done} variant="primary" onClick={onClose} />
      </div>
    </Popover>
  )
}

const LabelDot = ({ color }: { color: string }) => <span className="inbox-label-dot" style={{ background: color }} />

/** How many of these conversations have each label. */
function countLabels(ids: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { name } of ids.flatMap((id) => findConversation(id)?.labels ?? [])) {
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return counts
}
