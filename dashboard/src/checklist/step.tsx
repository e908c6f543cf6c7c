/** One of the first steps: whether it is taken, what it is about, and where it is taken. */
import { Link } from 'wouter'
import { Icon } from '../../../ui/icon.tsx'
import { useCall } from '../lib/api.ts'
import { words } from '../words/words.ts'
import type { Item } from './checklist.tsx'

const { checklist: said } = words

type Way = { text: string; link: string; href: string; isElsewhere: boolean }

export function Step({ item: { name, done }, isNext }: { item: Item; isNext: boolean }) {
  const { text, link, href, isElsewhere } = useWay(name)
  return (
    <li data-done={done ? '' : undefined} data-next={isNext ? '' : undefined} data-step={name}>
      <span
        className="checklist-mark"
        data-done={done ? '' : undefined}
        role="img"
        aria-label={done ? said.done : said.open}
      >
        {done && <Icon name="check" />}
      </span>
      <div>
        <strong>{said.steps[name].title}</strong>
        <p>{text}</p>
        {!done &&
          (isElsewhere ? (
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

/** Who speaks to the simulator inside the service plays the customer there; others need a channel first. */
function useWay(name: Item['name']): Way {
  const channels = useCall('GET /channels', {}, { enabled: name === 'customer_wrote' })
  const hasPhones = channels.data?.some(({ simulator }) => simulator === 'built_in') ?? false
  const { steps } = said
  switch (name) {
    case 'message_sent':
      return { ...steps[name], href: '/docs', isElsewhere: true }
    case 'customer_wrote':
      return hasPhones
        ? { ...steps[name], href: '/simulator', isElsewhere: true }
        : {
            text: steps[name].withoutSimulator,
            link: steps[name].withoutSimulatorLink,
            href: '/settings/channels',
            isElsewhere: false,
          }
    case 'key_made':
      return { ...steps[name], href: '/settings/keys', isElsewhere: false }
    case 'webhook_delivered':
      return { ...steps[name], href: '/webhooks', isElsewhere: false }
  }
}
