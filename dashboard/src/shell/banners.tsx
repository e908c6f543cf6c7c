/** The banners above the pages. */

import { useState } from 'react'
import { Link } from 'wouter'
import { Button } from '../../../ui/controls.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { useCall } from '../lib/api.ts'
import { listSharedChannels, pollMs } from '../lib/connections.ts'
import { usePreferences } from '../lib/preferences.ts'
import { formatTime } from '../lib/time.ts'
import { words } from '../words/words.ts'
import { getPermission } from './desktop-notification.ts'

const { shell } = words

/**
 * A banner on every page while the provider restricts a channel. Without it, members would learn this from failed messages. Restrictions
 * are rare, so it polls instead of refetching at every change of the workspace.
 */
export function RestrictionBanner() {
  const { data = [] } = useCall('GET /channels', {}, { pollMs })
  const sharedChannels = listSharedChannels(data)
  const restrictions = data.flatMap(({ channel, name, signals }) => {
    const subject = sharedChannels.includes(channel) ? name : words.channels[channel]
    return signals.filter(({ severity }) => severity === 'restriction').map((signal) => ({ ...signal, subject }))
  })
  const [first, ...others] = restrictions
  if (!first) return null
  return (
    <div className="banner" role="status">
      <Icon name="alert" />
      <p>
        <strong>{first.subject}</strong> {first.text}
        {first.expires_at && ` ${shell.restriction.ends(formatTime(first.expires_at))}`}
        {others.length > 0 && ` ${shell.restriction.more(others.length)}`}{' '}
        <Link href="/settings/channels">{shell.restriction.details}</Link>
      </p>
    </div>
  )
}

const storageKey = 'parley-notification-hint'

/** Offers desktop notifications in the inbox, once per browser: the browser's own question comes only after this one. */
export function NotificationHint() {
  const [isOpen, setOpen] = useState(() => getPermission() === 'default' && !localStorage.getItem(storageKey))
  const level = usePreferences().data?.notifications
  if (!isOpen || !level || level === 'none') return null
  const close = () => {
    localStorage.setItem(storageKey, 'dismissed')
    setOpen(false)
  }
  const ask = async () => {
    await Notification.requestPermission()
    close()
  }
  return (
    <div className="banner" data-tone="accent">
      <Icon name="bell" />
      <p>{words.shell.notification.hint}</p>
      <Button label={words.shell.notification.turnOn} size="small" variant="primary" onClick={ask} />
      <Button label={words.shell.notification.notNow} size="small" variant="quiet" onClick={close} />
    </div>
  )
}
