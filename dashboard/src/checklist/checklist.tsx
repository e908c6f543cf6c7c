/**
 * The first steps of the member's role: a card on the overview, a compact list in the inbox while no conversation is open. Completed, it
 * shows a confirmation until a member hides it.
 */
import './checklist.css'
import { Link } from 'wouter'
import { IconButton } from '../../../ui/controls.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { unassigned } from '../inbox/model/filters.ts'
import { type DataOf, useCall, useChange } from '../lib/api.ts'
import { useCanWrite } from '../lib/session.tsx'
import { ListenCommand } from '../ui/listen-command.tsx'
import { Marked } from '../ui/marked.tsx'
import { words } from '../words/words.ts'

const { checklist: labels } = words

/** Polls, because webhook outcomes and digest counts do not trigger live updates. */
const pollMs = 3_000

export function Checklist({ slim = false }: { slim?: boolean }) {
  const canWrite = useCanWrite()
  const { data } = useCall('GET /checklist', {}, { live: true })
  if (!data || data.dismissed || !canWrite) return null
  const isDone = data.items.every(({ done }) => done)
  return (
    <section className="checklist" data-slim={slim ? '' : undefined} aria-label={labels.title}>
      {isDone ? (
        <AllDone isAgent={data.items.some(({ name }) => name === 'conversation_taken')} />
      ) : (
        <Steps slim={slim} />
      )}
      <Hide />
    </section>
  )
}

function Steps({ slim }: { slim: boolean }) {
  const { data } = useCall('GET /checklist', {}, { live: true, pollMs })
  const items = data?.items ?? []
  const count = items.filter(({ done }) => done).length
  const next = items.find(({ done }) => !done)
  return (
    <>
      <div className="line checklist-head">
        <h2>{labels.title}</h2>
        <span className="soft small numeric">{labels.progress(count, items.length)}</span>
        <progress aria-label={labels.title} max={items.length} value={count} />
      </div>
      <ol>
        {items.map((item) => (
          <Step key={item.name} item={item} isNext={item === next} slim={slim} />
        ))}
      </ol>
    </>
  )
}

function AllDone({ isAgent }: { isAgent: boolean }) {
  return (
    <div className="line checklist-end" role="status">
      <span className="mark checklist-mark" data-done="">
        <Icon name="check" />
      </span>
      <p>
        <strong>{labels.allDone}</strong> {isAgent ? labels.agentDoneText : labels.allDoneText}
      </p>
    </div>
  )
}

function Hide() {
  const hide = useChange('POST /checklist/dismiss', { stale: ['GET /checklist'] })
  return <IconButton label={labels.hide} icon="close" busy={hide.isPending} onClick={() => hide.mutate({})} />
}

type Item = DataOf<'GET /checklist'>['items'][number]
type StepLink = { text: string; link: string; href: string; isExternal: boolean }

/** One step: state, description and a link to the page where it is completed. */
function Step({ item: { name, done }, isNext, slim }: { item: Item; isNext: boolean; slim: boolean }) {
  const { text, link, href, isExternal } = useStepLink(name)
  return (
    <li data-done={done ? '' : undefined} data-next={isNext ? '' : undefined} data-step={name}>
      <span
        className="mark checklist-mark"
        data-done={done ? '' : undefined}
        role="img"
        aria-label={done ? labels.done : labels.open}
      >
        {done && <Icon name="check" />}
      </span>
      <div>
        <strong>{labels.steps[name].title}</strong>
        <p>
          <Marked text={text} isKeys={name === 'reply_saved'} />
        </p>
        {!done && name === 'webhook_delivered' && <ListenCommand />}
        {/* The compact list is in the inbox. */}
        {!done && name === 'message_sent' && !slim && (
          <Link href="/inbox">
            {labels.steps[name].inboxLink}
            <Icon name="right" />
          </Link>
        )}
        {!done &&
          (isExternal ? (
            <a href={href} target="_blank" rel="noopener">
              {link}
              <Icon name="external" />
            </a>
          ) : (
            <Link href={href}>
              {link}
              <Icon name="right" />
            </Link>
          ))}
      </div>
    </li>
  )
}

/** With the built-in simulator, the member writes as a customer there. Other workspaces connect a channel first. */
function useStepLink(name: Item['name']): StepLink {
  const channels = useCall('GET /channels', {}, { enabled: name === 'customer_wrote' })
  const hasSimulator = channels.data?.some(({ simulator }) => simulator === 'built_in') ?? false
  const { steps } = labels
  switch (name) {
    case 'message_sent':
      return { ...steps[name], href: '/docs', isExternal: true }
    case 'customer_wrote':
      return hasSimulator
        ? { ...steps[name], href: '/simulator', isExternal: true }
        : {
            text: steps[name].withoutSimulator,
            link: steps[name].withoutSimulatorLink,
            href: '/settings/channels',
            isExternal: false,
          }
    case 'key_made':
      return { ...steps[name], href: '/developers/keys', isExternal: false }
    case 'webhook_delivered':
      return { ...steps[name], href: '/webhooks', isExternal: false }
    case 'conversation_taken':
      return { ...steps[name], href: `/inbox?assigned=${unassigned}`, isExternal: false }
    case 'customer_answered':
      return { ...steps[name], href: '/inbox?assigned=me', isExternal: false }
    case 'reply_saved':
      return { ...steps[name], href: '/settings/replies', isExternal: false }
    case 'notifications_chosen':
      return { ...steps[name], href: '/settings/notifications', isExternal: false }
  }
}
