/**
 * The onboarding checklist: a card on the overview, a compact list in the inbox while no conversation is open. Completed, it
 * shows a confirmation until a member hides it.
 */
import './checklist.css'
import { IconButton } from '../../../ui/controls.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { useCall, useChange } from '../lib/api.ts'
import { useCanWrite } from '../lib/session.tsx'
import { words } from '../words/words.ts'
import { Step } from './step.tsx'

const { checklist: labels } = words

/** Polls, because webhook outcomes and digest counts do not trigger live updates. */
const pollMs = 3_000

export function Checklist({ slim = false }: { slim?: boolean }) {
  const canWrite = useCanWrite()
  const { data } = useCall('GET /checklist', {}, { live: true })
  // Its steps are for members who set up the workspace.
  if (!data || data.dismissed || !canWrite) return null
  const isDone = data.items.every(({ done }) => done)
  return (
    <section className="checklist" data-slim={slim ? '' : undefined} aria-label={labels.title}>
      {isDone ? <AllDone /> : <Steps />}
      <Hide />
    </section>
  )
}

function Steps() {
  const { data } = useCall('GET /checklist', {}, { live: true, pollMs })
  const items = data?.items ?? []
  const count = items.filter(({ done }) => done).length
  const next = items.find(({ done }) => !done)
  return (
    <>
      <div className="checklist-head">
        <h2>{labels.title}</h2>
        <span className="checklist-count numeric">{labels.progress(count, items.length)}</span>
        <progress aria-label={labels.title} max={items.length} value={count} />
      </div>
      <ol>
        {items.map((item) => (
          <Step key={item.name} item={item} isNext={item === next} />
        ))}
      </ol>
    </>
  )
}

function AllDone() {
  return (
    <div className="checklist-end" role="status">
      <span className="mark checklist-mark" data-done="">
        <Icon name="check" />
      </span>
      <p>
        <strong>{labels.allDone}</strong> {labels.allDoneText}
      </p>
    </div>
  )
}

function Hide() {
  const hide = useChange('POST /checklist/dismiss', { stale: ['GET /checklist'] })
  return (
    <IconButton label={labels.hide} icon="close" size="small" busy={hide.isPending} onClick={() => hide.mutate({})} />
  )
}
