/**
 * The channels and their connections. Owners and admins connect a number or an account on its setup page, and each site has a page of
 * its own; agents see the state.
 */
import './channels.css'
import { Redirect, Route, Switch } from 'wouter'
import { Note } from '../../../ui/display.tsx'
import { useCall } from '../lib/api.ts'
import type { ChannelName } from '../lib/connections.ts'
import { useIsManager } from '../lib/session.tsx'
import { Page, QueryView } from '../ui/page.tsx'
import { settingsWords } from '../words/settings.ts'
import { words } from '../words/words.ts'
import { ChannelCard } from './channel-card.tsx'
import { ChannelSetup } from './channel-setup.tsx'
import { SiteSettings } from './channel-web.tsx'
import type { ProviderChannel } from './connection.ts'

const { channels } = settingsWords

const channelNames: readonly ChannelName[] = ['msgapp', 'social', 'web']
const providerChannels: readonly ProviderChannel[] = ['msgapp', 'social']

export function Channels() {
  const isManager = useIsManager()
  return (
    <Switch>
      <Route path="/settings/channels">
        <ChannelList isManager={isManager} />
      </Route>
      {isManager &&
        providerChannels.flatMap((channel) => [
          <Route key={channel} path={`/settings/channels/${channel}`}>
            <ChannelSetup key={channel} channel={channel} />
          </Route>,
          <Route key={`${channel}/new`} path={`/settings/channels/${channel}/new`}>
            <ChannelSetup key={`${channel}/new`} channel={channel} isAnother />
          </Route>,
        ])}
      {isManager && <Route path="/settings/channels/:id">{({ id }) => <ConnectionPage key={id} id={id} />}</Route>}
      <Route>
        <Redirect to="/settings/channels" replace />
      </Route>
    </Switch>
  )
}

function ChannelList({ isManager }: { isManager: boolean }) {
  const query = useCall('GET /channels', {}, { live: true })
  return (
    <Page title={channels.title} lead={channels.lead}>
      {!isManager && <Note>{words.common.onlyManagers}</Note>}
      <QueryView query={query}>
        {(all) =>
          channelNames.map((channel) => (
            <ChannelCard
              key={channel}
              channel={channel}
              connections={all.filter((connection) => connection.channel === channel)}
              isManager={isManager}
            />
          ))
        }
      </QueryView>
    </Page>
  )
}

/** The settings of one connection. */
function ConnectionPage({ id }: { id: string }) {
  const query = useCall('GET /channels', {})
  const connection = query.data?.find((each) => each.id === id)
  if (query.data && !connection) return <Redirect to="/settings/channels" replace />
  if (connection && connection.channel !== 'web') return <ChannelSetup channel={connection.channel} id={id} />
  return (
    <Page title={connection?.name ?? ''} back={{ href: '/settings/channels', label: channels.title }}>
      <QueryView query={query}>{() => connection && <SiteSettings connection={connection} />}</QueryView>
    </Page>
  )
}
