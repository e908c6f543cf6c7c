/** The member's active sessions, with signing out of one or everywhere. */
import { useState } from 'react'
import { useLocation } from 'wouter'
import { Button, Checkbox } from '../../../ui/controls.tsx'
import { Badge, Card } from '../../../ui/display.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { useToast } from '../../../ui/overlays.tsx'
import { type ItemOf, useCall } from '../lib/api.ts'
import { forgetMember } from '../lib/forget-member.ts'
import { readUserAgent } from '../lib/user-agent.ts'
import { CallButton, ConfirmCall } from '../ui/dialogs.tsx'
import { QueryView } from '../ui/page.tsx'
import { RelativeTime } from '../ui/time.tsx'
import { settingsWords } from '../words/settings.ts'

const { sessions: text } = settingsWords

type Session = ItemOf<'GET /sessions'>

export function Sessions() {
  const query = useCall('GET /sessions', {})
  const [isConfirming, setConfirming] = useState(false)
  const hasOthers = query.data?.some(({ is_current }) => !is_current)
  return (
    <Card
      title={text.title}
      flush
      actions={
        hasOthers && <Button label={text.endAll} size="small" icon="signout" onClick={() => setConfirming(true)} />
      }
    >
      <QueryView query={query} lines={3}>
        {(all) => (
          <ul className="settings-sessions lined" aria-label={text.title}>
            {sortSessions(all).map((session) => (
              <Row key={session.id} session={session} />
            ))}
          </ul>
        )}
      </QueryView>
      {isConfirming && <ConfirmSignOut onClose={() => setConfirming(false)} />}
    </Card>
  )
}

/** The current session first, then by last activity. */
const sortSessions = (sessions: readonly Session[]): Session[] =>
  [...sessions].sort(
    (one, other) =>
      Number(other.is_current) - Number(one.is_current) || other.last_seen_at.localeCompare(one.last_seen_at),
  )

function Row({ session }: { session: Session }) {
  const { browser, system, isPhone } = readUserAgent(session.user_agent ?? '')
  const device = text.on(browser ?? text.unknownBrowser, system)
  return (
    <li>
      <span className="mark settings-device">
        <Icon name={isPhone ? 'phone' : 'screen'} />
      </span>
      <div className="grow">
        <p className="row">
          <strong>{device}</strong>
          {session.is_current && <Badge tone="green">{text.current}</Badge>}
        </p>
        <p className="soft small settings-dots">
          <span>{session.address ?? text.unknownAddress}</span>
          {!session.is_current && (
            <span>
              {text.seen} <RelativeTime at={session.last_seen_at} />
            </span>
          )}
          <span>
            {text.since} <RelativeTime at={session.created_at} />
          </span>
        </p>
      </div>
      {!session.is_current && (
        <CallButton
          label={text.end}
          size="small"
          aria-label={text.endOf(device)}
          call="DELETE /sessions/{id}"
          input={{ params: { id: session.id } }}
          stale={['GET /sessions']}
          done={text.ended(device)}
        />
      )}
    </li>
  )
}

function ConfirmSignOut({ onClose }: { onClose: () => void }) {
  const toast = useToast()
  const [, navigate] = useLocation()
  const [isCurrentIncluded, setCurrentIncluded] = useState(false)
  return (
    <ConfirmCall
      title={text.endAllTitle}
      action={text.end}
      danger
      call="DELETE /sessions"
      input={{ query: isCurrentIncluded ? { including_current: 'true' } : {} }}
      stale={isCurrentIncluded ? [] : ['GET /sessions']}
      onDone={({ ended }) => {
        if (!isCurrentIncluded) return toast.success(text.endedAll(ended))
        forgetMember()
        navigate('/sign-in')
      }}
      onClose={onClose}
    >
      <p>{text.endAllText}</p>
      <Checkbox
        label={text.endCurrent}
        checked={isCurrentIncluded}
        onChange={(event) => setCurrentIncluded(event.target.checked)}
      />
    </ConfirmCall>
  )
}
