/**
 * The channels customers write on, each connected or not. Connecting one is a
 * page of its own, step by step; whoever may not connect sees how things stand.
 */
import './channels.css'
import { Redirect, Route, Switch } from 'wouter'
import { Note } from '../../../ui/note.tsx'
import { type ItemOf, useCall } from '../lib/api.ts'
import { useIsManager } from '../lib/session.tsx'
import { Asked, Page } from '../ui/page.tsx'
import { words } from '../words/words.ts'
import { ChannelCard } from './channel-card.tsx'
import { ChannelGuide } from './channel-guide.tsx'

const { channels } = words.settings

export type Connection = ItemOf<'GET /channels'>
export type ChannelName = Connection['channel']
/** Those with a provider that is told of us, and we of it. */
export type ProvidedChannel = Exclude<ChannelName, 'web'>

const names: readonly ChannelName[] = ['msgapp', 'social', 'web']
const provided: readonly ProvidedChannel[] = ['msgapp', 'social']

export function Channels() {
  const isManager = useIsManager()
  return (
    <Switch>
      <Route path="/settings/channels">
        <Overview isManager={isManager} />
      </Route>
      {isManager &&
        provided.map((channel) => (
          <Route key={channel} path={`/settings/channels/${channel}`}>
            <ChannelGuide key={channel} channel={channel} />
          </Route>
        ))}
      <Route>
        <Redirect to="/settings/channels" replace />
      </Route>
    </Switch>
  )
}

function Overview({ isManager }: { isManager: boolean }) {
  const asked = useCall('GET /channels', {}, { live: true })
  return (
    <Page title={channels.title} lead={channels.lead}>
      {!isManager && <Note>{words.common.onlyManagers}</Note>}
      <Asked query={asked}>
        {(all) =>
          names.map((channel) => (
            <ChannelCard
              key={channel}
              channel={channel}
              connection={all.find((connection) => connection.channel === channel)}
              isManager={isManager}
            />
          ))
        }
      </Asked>
    </Page>
  )
}

/** Where the simulator is that a connection speaks to: ours, or one that runs alone. */
export const simulatorOf = ({ simulator, base_url }: Connection): string | undefined =>
  simulator ? (simulator === 'built_in' ? '/simulator' : base_url.replace(/\/graph$/, '')) : undefined
