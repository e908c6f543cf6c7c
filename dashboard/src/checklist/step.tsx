/** One step of the checklist: state, description and a link to the page where it is completed. */
import { Link } from 'wouter'
import { Icon } from '../../../ui/icon.tsx'
import { type DataOf, useCall } from '../lib/api.ts'
import { words } from '../words/words.ts'

const { checklist: labels } = words

type Item = DataOf<'GET /checklist'>['items'][number]
type StepLink = { text: string; link: string; href: string; isExternal: boolean }

export function Step({ item: { name, done }, isNext }: { item: Item; isNext: boolean }) {
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
        <p>{text}</p>
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
      return { ...steps[name], href: '/settings/keys', isExternal: false }
    case 'webhook_delivered':
      return { ...steps[name], href: '/webhooks', isExternal: false }
  }
}
