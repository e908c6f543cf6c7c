/** One channel in the list: state, provider notices, details and actions. */
import type { ReactNode } from 'react'
import { Button } from '../../../ui/controls.tsx'
import { Badge, Note, type Tone } from '../../../ui/display.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { useChange } from '../lib/api.ts'
import { formatNumber, formatTime } from '../lib/time.ts'
import { ChannelMark } from '../ui/channel.tsx'
import { CallButton, ConfirmButton } from '../ui/dialogs.tsx'
import { LinkButton } from '../ui/link-button.tsx'
import { LastTime, RelativeTime } from '../ui/time.tsx'
import { words } from '../words/words.ts'
import { CheckSteps } from './channel-check.tsx'
import { WebChannel } from './channel-web.tsx'
import { type ChannelName, type Connection, simulatorUrlOf } from './connection.ts'

const { channels } = words.settings

const tones: Record<Connection['state'], Tone | undefined> = { connected: 'green', failing: 'red', unchecked: 'amber' }

type CardProps = { channel: ChannelName; connection: Connection | undefined; isManager: boolean }

export function ChannelCard({ channel, connection, isManager }: CardProps) {
  const simulator = connection && simulatorUrlOf(connection)
  return (
    <section className="card settings-channel" aria-label={words.channels[channel]}>
      <div className="card-body">
        <div className="settings-channel-head">
          <ChannelMark channel={channel} />
          <div className="grow">
            <div className="row">
              <h2>{words.channels[channel]}</h2>
              <StateBadge connection={connection} />
              {simulator && <Badge tone="blue">{channels.simulator}</Badge>}
            </div>
            <p className="soft">{channels.abouts[channel]}</p>
          </div>
        </div>
        {connection?.last_error && <Note tone="red">{connection.last_error}</Note>}
        {connection && <ChannelNotices connection={connection} isManager={isManager} />}
        {simulator && (
          <p className="soft">
            {channels.simulated}{' '}
            <a href={simulator} target="_blank" rel="noopener">
              {channels.openSimulator}
            </a>
          </p>
        )}
        {connection && channel !== 'web' && <ConnectionFacts connection={connection} />}
        {connection && channel === 'web' && <WebChannel connection={connection} isManager={isManager} />}
        {isManager && (connection ? <ConnectionActions connection={connection} /> : <Connect channel={channel} />)}
      </div>
    </section>
  )
}

function StateBadge({ connection }: { connection: Connection | undefined }): ReactNode {
  if (!connection) return <Badge>{channels.notConnected}</Badge>
  return <Badge tone={tones[connection.state]}>{channels.states[connection.state]}</Badge>
}

function ConnectionFacts({ connection }: { connection: Connection }) {
  const { account_id, phone_number_id, messages_per_second, checked_at, callback_received_at } = connection
  const facts: Record<string, ReactNode> = {
    [channels.fields.account_id.label]: <code>{account_id}</code>,
    ...(phone_number_id ? { [channels.fields.phone_number_id.label]: <code>{phone_number_id}</code> } : {}),
    [channels.rate]: channels.perSecond(formatNumber(messages_per_second)),
    [channels.lastCheck]: <LastTime at={checked_at} />,
    [channels.lastReport]: <LastTime at={callback_received_at} />,
  }
  return (
    <dl className="settings-tiles">
      {Object.entries(facts).map(([label, value]) => (
        <div key={label}>
          <dt className="soft small">{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

function ConnectionActions({ connection: { id, channel, simulator } }: { connection: Connection }) {
  const check = useChange('POST /channels/{id}/check', { stale: ['GET /channels'], reportsError: true })
  return (
    <>
      {check.data && <CheckSteps steps={check.data.steps} />}
      <div className="row">
        {channel !== 'web' && (
          <>
            <LinkButton
              label={simulator ? channels.connectOwn : channels.configure}
              href={`/settings/channels/${channel}`}
              icon={simulator ? 'link' : 'settings'}
              variant={simulator ? 'primary' : undefined}
            />
            <Button
              label={channels.checkAgain}
              icon="refresh"
              busy={check.isPending}
              onClick={() => check.mutate({ params: { id } })}
            />
          </>
        )}
        <Disconnect id={id} channel={channel} />
      </div>
    </>
  )
}

const Connect = ({ channel }: { channel: ChannelName }) => (
  <div className="row">
    {channel === 'web' ? (
      <CallButton
        label={channels.connectWeb}
        variant="primary"
        icon="link"
        call="PUT /channels/{channel}"
        input={{ params: { channel }, body: {} }}
        stale={['GET /channels']}
        done={channels.connected(words.channels[channel])}
      />
    ) : (
      <LinkButton label={channels.connect} variant="primary" icon="link" href={`/settings/channels/${channel}`} />
    )}
  </div>
)

function Disconnect({ id, channel }: { id: string; channel: ChannelName }) {
  const name = words.channels[channel]
  return (
    <ConfirmButton
      button={<Button label={channels.disconnect} />}
      title={channels.disconnectTitle(name)}
      text={channels.disconnectTexts[channel]}
      action={channels.disconnect}
      danger
      call="DELETE /channels/{id}"
      input={{ params: { id } }}
      stale={['GET /channels', 'GET /templates']}
      done={channels.disconnected(name)}
    />
  )
}

const { signals: text } = words.settings.channels

const signalTones = { restriction: 'red', warning: 'amber', info: undefined } as const

type NoticesProps = { connection: Connection; isManager: boolean }

/** Notices from the provider about the account, restrictions first. Owners and admins can dismiss them. */
function ChannelNotices({ connection: { id, signals }, isManager }: NoticesProps) {
  if (signals.length === 0) return null
  return (
    <ul className="stack stack-tight settings-signals" aria-label={text.label}>
      {signals.map(({ key, severity, text: notice, at, expires_at }) => (
        <li key={key} className="note" data-tone={signalTones[severity]}>
          <Icon name={severity === 'info' ? 'info' : 'alert'} />
          <div className="grow">
            <p>{notice}</p>
            <p className="small">
              {text.reported} <RelativeTime at={at} />
              {expires_at && <>. {text.ends(formatTime(expires_at))}</>}
            </p>
          </div>
          {isManager && (
            <CallButton
              label={text.dismiss}
              size="small"
              variant="quiet"
              call="POST /channels/{id}/signals/dismiss"
              input={{ params: { id }, body: { key, at } }}
              stale={['GET /channels']}
            />
          )}
        </li>
      ))}
    </ul>
  )
}
