/** The starters: a click creates a draft with the definition and opens it. Their definitions are the examples of the documents. */
import { useLocation } from 'wouter'
import { Icon, type IconName } from '../../../ui/icon.tsx'
import { useChange } from '../lib/api.ts'
import { automationWords } from '../words/automations.ts'
import type { Automation } from './automation.tsx'

const { create: text } = automationWords

type StarterId = keyof typeof text.starters
type Module = { default: object }
type Starter = { id: StarterId; icon: IconName; load?: () => Promise<Module> }

const starters: readonly Starter[] = [
  { id: 'blank', icon: 'plus' },
  { id: 'welcome-menu', icon: 'menu', load: () => import('../../../docs/automations/welcome-menu.json') },
  { id: 'away-message', icon: 'moon', load: () => import('../../../docs/automations/away-message.json') },
  { id: 'lead-questions', icon: 'person', load: () => import('../../../docs/automations/lead-questions.json') },
  {
    id: 'close-after-silence',
    icon: 'check',
    load: () => import('../../../docs/automations/close-after-silence.json'),
  },
  {
    id: 'reminder-before-window-ends',
    icon: 'clock',
    load: () => import('../../../docs/automations/reminder-before-window-ends.json'),
  },
  { id: 'order-status', icon: 'webhooks', load: () => import('../../../docs/automations/order-status.json') },
]

/** `existing`: a draft gets a name that none of them has. */
export function Starters({ existing }: { existing: readonly Automation[] }) {
  const [, navigate] = useLocation()
  const create = useChange('POST /automations', {
    stale: ['GET /automations'],
    done: ({ name }) => text.created(name),
    onDone: ({ id }) => navigate(`/automations/${id}`),
    reportsError: true,
  })
  const start = async ({ id, load }: Starter) => {
    const definition = (await load?.())?.default
    const name = toFreeName(text.starters[id].name, existing)
    create.mutate({ body: { name, ...(definition ? { definition: { ...definition } } : {}) } })
  }
  return (
    <ul className="automations-starters" aria-label={text.start}>
      {starters.map((starter) => (
        <li key={starter.id}>
          <button
            type="button"
            className="card automations-starter"
            disabled={create.isPending}
            onClick={() => void start(starter)}
          >
            <span className="automations-mark">
              <Icon name={starter.icon} />
            </span>
            <strong>{text.starters[starter.id].title}</strong>
            <span className="soft small">{text.starters[starter.id].text}</span>
          </button>
        </li>
      ))}
    </ul>
  )
}

function toFreeName(name: string, existing: readonly Automation[]): string {
  const taken = new Set(existing.map((automation) => automation.name))
  let free = name
  for (let i = 2; taken.has(free); i++) free = `${name} ${i}`
  return free
}
