/** Offers desktop notifications in the inbox, once per browser: the browser's own question comes only after this one. */
import { useState } from 'react'
import { Button } from '../../../ui/controls.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { usePreferences } from '../lib/preferences.ts'
import { words } from '../words/words.ts'
import { getPermission } from './desktop-notification.ts'

const storageKey = 'parley-notification-hint'

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
