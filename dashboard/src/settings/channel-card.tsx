/** One channel in the list: its connections, each with state, provider notices, details and actions. */
import { type ReactNode, useState } from 'react'
import { Button, InputField } from '../../../ui/controls.tsx'
import { Badge, Note, type Tone } from '../../../ui/display.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { useChange } from '../lib/api.ts'
import { type ChannelName, type Connection, describeConnection } from '../lib/connections.ts'
import { useFormFields } from '../lib/field-errors.ts'
import { formatNumber, formatTime } from '../lib/time.ts'
import { ChannelMark } from '../ui/channel.tsx'
import { CallButton, ConfirmButton, FormDialog } from '../ui/dialogs.tsx'
import { LinkButton } from '../ui/link-button.tsx'
import { LastTime, RelativeTime } from '../ui/time.tsx'
import { settingsWords } from '../words/settings.ts'
import { words } from '../words/words.ts'
import { CheckSteps } from './channel-check.tsx'
import { Snippet, WebChannel } from './channel-web.tsx'
import { hrefOf, simulatorUrlOf } from './connection.ts'

const { channels } = settingsWords

const tones: Record<Connection['state'], Tone | undefined> = { connected: 'green', failing: 'red', unchecked: 'amber' }

type CardProps = { channel: ChannelName; connections: readonly Connection[]; isManager: boolean }

/** With one connection the head of the card has its state. */
export function ChannelCard({ channel, connections, isManager }: CardProps) {
  const [first, ...others] = connections
  const only = others.length === 0 ? first : undefined
  return (
    <section className="card settings-channel" aria-label={words.channels[channel]}>
      <div className="card-body">
        <div className="settings-channel-head">
          <ChannelMark channel={channel} />
          <div className="grow">
            <div className="row">
              <h2>{words.channels[channel]}</h2>
              {!first && <Badge>{channels.notConnected}</Badge>}
              {only && <StateBadges connection={only} />}
            </div>
            <p className="soft">{channels.abouts[channel]}</p>
          </div>
        </div>
        {only && (
          <>
            <ConnectionName connection={only} isManager={isManager} />
            <ConnectionDetails connection={only} connections={connections} isManager={isManager} />
          </>
        )}
        {!only &&
          connections.map((connection) => (
            <section key={connection.id} className="stack settings-connection" aria-label={connection.name}>
              <ConnectionName connection={connection} isManager={isManager}>
                <StateBadges connection={connection} />
                {connection.is_default && <Badge tone="accent">{channels.default}</Badge>}
              </ConnectionName>
              <ConnectionDetails connection={connection} connections={connections} isManager={isManager} />
            </section>
          ))}
        {isManager && (first ? <ConnectAnother channel={channel} /> : <Connect channel={channel} />)}
      </div>
    </section>
  )
}

const StateBadges = ({ connection }: { connection: Connection }) => (
  <>
    <Badge tone={tones[connection.state]}>{channels.states[connection.state]}</Badge>
    {simulatorUrlOf(connection) && <Badge tone="blue">{channels.simulator}</Badge>}
  </>
)

type NameProps = { connection: Connection; isManager: boolean; children?: ReactNode }

function ConnectionName({ connection: { id, name, address }, isManager, children }: NameProps) {
  const [isRenaming, setRenaming] = useState(false)
  return (
    <div className="row settings-connection-name">
      <h3>{name}</h3>
      {address && <span className="soft numeric">{address}</span>}
      {children}
      {isManager && (
        <Button
          label={channels.rename}
          aria-label={channels.renameOf(name)}
          size="small"
          variant="quiet"
          icon="edit"
          onClick={() => setRenaming(true)}
        />
      )}
      {isRenaming && <Rename id={id} name={name} onClose={() => setRenaming(false)} />}
    </div>
  )
}

function Rename({ id, name, onClose }: { id: string; name: string; onClose: () => void }) {
  const save = useChange('PATCH /channels/{id}', {
    // Rows of the inbox have the name too.
    stale: ['GET /channels', 'GET /conversations', 'GET /conversations/{id}'],
    done: words.common.saved,
    onDone: onClose,
  })
  const { values, bind } = useFormFields({ name }, save.error)
  return (
    <FormDialog
      title={channels.renameOf(name)}
      action={words.common.save}
      isBusy={save.isPending}
      isReady={values.name.trim() !== ''}
      onSubmit={() => save.mutate({ params: { id }, body: { name: values.name } })}
      onClose={onClose}
    >
      <InputField label={channels.name} hint={channels.nameHint} maxLength={60} autoFocus {...bind('name', 'rest')} />
    </FormDialog>
  )
}

type DetailsProps = { connection: Connection; connections: readonly Connection[]; isManager: boolean }

function ConnectionDetails({ connection, connections, isManager }: DetailsProps) {
  const simulator = simulatorUrlOf(connection)
  const isOnly = connections.length === 1
  return (
    <>
      {connection.last_error && <Note tone="red">{connection.last_error}</Note>}
      <ChannelNotices connection={connection} isManager={isManager} />
      {simulator && (
        <p className="soft">
          {channels.simulated}{' '}
          <a href={simulator} target="_blank" rel="noopener">
            {channels.openSimulator}
          </a>
        </p>
      )}
      {connection.channel !== 'web' ? (
        <ConnectionFacts connection={connection} isOnly={isOnly} />
      ) : isOnly ? (
        <WebChannel connection={connection} isManager={isManager} />
      ) : (
        <Snippet connection={connection} />
      )}
      {isManager && <ConnectionActions connection={connection} connections={connections} />}
    </>
  )
}

function ConnectionFacts({ connection, isOnly }: { connection: Connection; isOnly: boolean }) {
  const { account_id, phone_number_id, messages_per_second, checked_at, callback_received_at, signals } = connection
  const facts: Record<string, ReactNode> = {
    [channels.fields.account_id.label]: <code>{account_id}</code>,
    ...(phone_number_id ? { [channels.fields.phone_number_id.label]: <code>{phone_number_id}</code> } : {}),
    [channels.rate]: channels.perSecond(formatNumber(messages_per_second)),
    // The notices come most severe first.
    ...(isOnly ? {} : { [channels.quality]: channels.qualities[signals[0]?.severity ?? 'none'] }),
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

type ActionsProps = Pick<DetailsProps, 'connection' | 'connections'>

function ConnectionActions({ connection, connections }: ActionsProps) {
  const { id, channel, name, simulator, is_default } = connection
  const isOnly = connections.length === 1
  const check = useChange('POST /channels/{id}/check', { stale: ['GET /channels'], reportsError: true })
  return (
    <>
      {check.data && <CheckSteps steps={check.data.steps} />}
      <div className="row">
        {channel === 'web' ? (
          !isOnly && <LinkButton label={channels.configure} href={hrefOf(connection)} icon="settings" />
        ) : (
          <>
            <LinkButton
              label={simulator ? channels.connectOwn : channels.configure}
              href={isOnly ? `/settings/channels/${channel}` : hrefOf(connection)}
              icon={simulator ? 'link' : 'settings'}
              variant={simulator && isOnly ? 'primary' : undefined}
            />
            <Button
              label={channels.checkAgain}
              icon="refresh"
              busy={check.isPending}
              onClick={() => check.mutate({ params: { id } })}
            />
          </>
        )}
        {!is_default && (
          <ConfirmButton
            button={<Button label={channels.makeDefault} />}
            title={channels.makeDefaultTitle(name)}
            text={channels.makeDefaultTexts[channel]}
            action={channels.makeDefault}
            call="PATCH /channels/{id}"
            input={{ params: { id }, body: { is_default: true } }}
            stale={['GET /channels']}
            done={channels.isDefault(name)}
          />
        )}
        <Disconnect connection={connection} connections={connections} />
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

function ConnectAnother({ channel }: { channel: ChannelName }) {
  const [isOpen, setOpen] = useState(false)
  const label = channels.another[channel]
  return (
    <div className="row">
      {channel === 'web' ? (
        <Button label={label} icon="plus" onClick={() => setOpen(true)} />
      ) : (
        <LinkButton label={label} icon="plus" href={`/settings/channels/${channel}/new`} />
      )}
      {isOpen && <AddSite onClose={() => setOpen(false)} />}
    </div>
  )
}

function AddSite({ onClose }: { onClose: () => void }) {
  const add = useChange('POST /channels', {
    stale: ['GET /channels'],
    done: ({ name }) => channels.connected(name),
    onDone: onClose,
  })
  const { values, bind } = useFormFields({ name: '', address: '' }, add.error)
  return (
    <FormDialog
      title={channels.another.web}
      action={channels.connect}
      isBusy={add.isPending}
      isReady={values.name.trim() !== ''}
      onSubmit={() => add.mutate({ body: { channel: 'web', ...values } })}
      onClose={onClose}
    >
      <p>{channels.anotherTexts.web}</p>
      <InputField label={channels.name} hint={channels.nameHint} maxLength={60} autoFocus {...bind('name', 'rest')} />
      <InputField
        label={channels.host}
        hint={channels.hostHint}
        placeholder={channels.hostExample}
        {...bind('address')}
      />
    </FormDialog>
  )
}

function Disconnect({ connection, connections }: ActionsProps) {
  const { id, channel, name, is_default } = connection
  const isOnly = connections.length === 1
  const shown = isOnly ? words.channels[channel] : name
  // The service makes the oldest one the default, and the list is sorted by age.
  const next = is_default ? connections.find((other) => other.id !== id) : undefined
  return (
    <ConfirmButton
      button={<Button label={channels.disconnect} />}
      title={isOnly ? channels.disconnectTitle(shown) : channels.disconnectOneTitle(describeConnection(connection))}
      text={channels.disconnectTexts[channel]}
      action={channels.disconnect}
      danger
      call="DELETE /channels/{id}"
      input={{ params: { id } }}
      stale={['GET /channels', 'GET /templates']}
      done={channels.disconnected(shown)}
    >
      {next && <p>{channels.nextDefault(next.name)}</p>}
    </ConfirmButton>
  )
}

const { signals: text } = settingsWords.channels

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
