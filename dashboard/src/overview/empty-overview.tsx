/** Shown instead of charts in a workspace without messages: links to connect a channel and add contacts. */
import { Link } from 'wouter'
import { EmptyState } from '../../../ui/display.tsx'
import { Icon, type IconName } from '../../../ui/icon.tsx'
import { words } from '../words/words.ts'

const { first } = words.overview

const steps: readonly { name: keyof typeof first.steps; icon: IconName; href: string }[] = [
  { name: 'channel', icon: 'chat', href: '/settings/channels' },
  { name: 'contacts', icon: 'contacts', href: '/contacts' },
]

export function EmptyOverview() {
  return (
    <div className="card overview-first">
      <EmptyState icon="overview" title={first.title} text={first.text} />
      <ol>
        {steps.map(({ name, icon, href }) => (
          <li key={name} data-link="">
            <Icon name={icon} />
            <div className="grow">
              <Link href={href}>{first.steps[name].title}</Link>
              <p>{first.steps[name].text}</p>
            </div>
            <Icon name="right" />
          </li>
        ))}
      </ol>
    </div>
  )
}
