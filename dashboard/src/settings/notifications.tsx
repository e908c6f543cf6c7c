/** What the member is notified about, and how. The choices apply on all devices, the browser's permission to this one. */
import { useState } from 'react'
import { Button, InputField, Switch } from '../../../ui/controls.tsx'
import { Card, Note } from '../../../ui/display.tsx'
import { type Preferences, useChangePreferences, usePreferences } from '../lib/preferences.ts'
import { getPermission } from '../shell/desktop-notification.ts'
import { playSound } from '../shell/sound.ts'
import { Page, QueryView } from '../ui/page.tsx'
import { settingsWords } from '../words/settings.ts'

const { notifications: text } = settingsWords

const levels = ['all', 'mine', 'mentions', 'none'] as const
const firstQuietHours = { from: '20:00', to: '08:00' }

export function Notifications() {
  const preferences = usePreferences()
  return (
    <Page title={text.title} lead={text.lead} narrow>
      <QueryView query={preferences}>
        {(stored) => (
          <>
            <Level preferences={stored} />
            <Desktop />
            <Sound preferences={stored} />
            <QuietHours preferences={stored} />
          </>
        )}
      </QueryView>
    </Page>
  )
}

function Level({ preferences }: { preferences: Preferences }) {
  const change = useChangePreferences()
  return (
    <Card title={text.level}>
      <fieldset className="column settings-roles">
        <legend className="offscreen">{text.level}</legend>
        {levels.map((level) => (
          <label key={level} className="check">
            <input
              type="radio"
              name="level"
              checked={preferences.notifications === level}
              onChange={() => change({ notifications: level })}
            />
            <span>
              <strong>{text.levels[level]}</strong>
              <small>{text.levelHints[level]}</small>
            </span>
          </label>
        ))}
      </fieldset>
    </Card>
  )
}

/** The only place, beside the hint of the inbox, that asks for the browser's permission. */
function Desktop() {
  const [permission, setPermission] = useState(getPermission)
  const ask = async () => {
    await Notification.requestPermission()
    setPermission(getPermission())
  }
  return (
    <Card title={text.desktop}>
      {permission === 'denied' ? (
        <Note tone="amber">{text.permissions.denied}</Note>
      ) : (
        <p className="soft">{text.permissions[permission]}</p>
      )}
      {permission === 'default' && (
        <div className="row">
          <Button label={text.turnOn} variant="primary" onClick={ask} />
        </div>
      )}
    </Card>
  )
}

function Sound({ preferences }: { preferences: Preferences }) {
  const change = useChangePreferences()
  return (
    <Card title={text.sound}>
      <div className="row spread">
        <Switch
          label={text.soundLabel}
          checked={preferences.sound}
          onChange={({ target }) => change({ sound: target.checked })}
        />
        <Button label={text.play} icon="play" size="small" onClick={playSound} />
      </div>
    </Card>
  )
}

function QuietHours({ preferences: { quiet_hours: hours } }: { preferences: Preferences }) {
  const change = useChangePreferences()
  const set = (name: 'from' | 'to', value: string) => {
    if (hours && value) change({ quiet_hours: { ...hours, [name]: value } })
  }
  return (
    <Card title={text.quietHours}>
      <Switch
        label={text.quietLabel}
        hint={text.quietHint}
        checked={hours !== null}
        onChange={({ target }) => change({ quiet_hours: target.checked ? firstQuietHours : null })}
      />
      {hours && (
        <div className="row">
          <InputField
            label={text.from}
            type="time"
            value={hours.from}
            onChange={({ target }) => set('from', target.value)}
          />
          <InputField label={text.to} type="time" value={hours.to} onChange={({ target }) => set('to', target.value)} />
        </div>
      )}
    </Card>
  )
}
