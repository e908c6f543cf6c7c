/** A banner on every page while the provider restricts a channel. Without it, members would learn this from failed messages. */
import { Link } from 'wouter'
import { Icon } from '../../../ui/icon.tsx'
import { useCall } from '../lib/api.ts'
import { formatTime } from '../lib/time.ts'
import { words } from '../words/words.ts'

const { shell } = words

/** Restrictions are rare, so the banner polls instead of refetching at every change of the workspace. */
const pollMs = 60_000

export function RestrictionBanner() {
  const { data = [] } = useCall('GET /channels', {}, { pollMs })
  const restrictions = data.flatMap(({ channel, signals }) =>
    signals.filter(({ severity }) => severity === 'restriction').map((signal) => ({ ...signal, channel })),
  )
  const [first, ...others] = restrictions
  if (!first) return null
  return (
    <div className="banner" role="status">
      <Icon name="alert" />
      <p>
        <strong>{words.channels[first.channel]}</strong> {first.text}
        {first.expires_at && ` ${shell.restriction.ends(formatTime(first.expires_at))}`}
        {others.length > 0 && ` ${shell.restriction.more(others.length)}`}{' '}
        <Link href="/settings/channels">{shell.restriction.details}</Link>
      </p>
    </div>
  )
}
