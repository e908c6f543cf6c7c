/**
 * The first steps in a new workspace, ticked as they are taken: a card on the
 * overview, a slim list where the inbox has no conversation open. Who has taken
 * them all is told so once more, until somebody of the workspace hides it.
 */
import './checklist.css'
import { IconButton } from '../../../ui/button.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { type DataOf, useCall, useChange } from '../lib/api.ts'
import { words } from '../words/words.ts'
import { Step } from './step.tsx'

const { checklist: said } = words

/** What a webhook came to, or what the service counts a moment later, no news tells of. */
const pollMs = 3_000

export type Item = DataOf<'GET /checklist'>['items'][number]

export function Checklist({ slim = false }: { slim?: boolean }) {
  const { data } = useCall('GET /checklist', {}, { live: true })
  if (!data || data.dismissed) return null
  const isDone = data.items.every(({ done }) => done)
  return (
    <section className="checklist" data-slim={slim ? '' : undefined} aria-label={said.title}>
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
        <h2>{said.title}</h2>
        <span className="checklist-count numeric">{said.progress(count, items.length)}</span>
        <progress aria-label={said.title} max={items.length} value={count} />
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
      <span className="checklist-mark" data-done="">
        <Icon name="check" />
      </span>
      <p>
        <strong>{said.allDone}</strong> {said.allDoneText}
      </p>
    </div>
  )
}

function Hide() {
  const hide = useChange('POST /checklist/dismiss', { stale: ['GET /checklist'] })
  return (
    <IconButton label={said.hide} icon="close" size="small" busy={hide.isPending} onClick={() => hide.mutate({})} />
  )
}
