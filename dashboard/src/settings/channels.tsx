/** The channels and their connections. Owners and admins connect a channel on its setup page; agents see the state. */
import './channels.css'
import { Redirect, Route, Switch } from 'wouter'
import { Note } from '../../../ui/display.tsx'
import { useCall } from '../lib/api.ts'
import { useIsManager } from '../lib/session.tsx'
import { Page, QueryView } from '../ui/page.tsx'
import { words } from '../words/words.ts'
import { ChannelCard } from './channel-card.tsx'
import { ChannelSetup } from './channel-setup.tsx'
import type { ChannelName, ProviderChannel } from './connection.ts'

const { channels } = words.settings

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
        providerChannels.map((channel) => (
          <Route key={channel} path={`/settings/channels/${channel}`}>
            <ChannelSetup key={channel} channel={channel} />
          </Route>
        ))}
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
              connection={all.find((connection) => connection.channel === channel)}
              isManager={isManager}
            />
          ))
        }
      </QueryView>
    </Page>
  )
}
