/** Routes of the pages for developers: requests, events and API keys. Webhooks have a folder of their own. */
import '../webhooks/webhooks.css'
import './developers.css'
import './keys.css'
import { Redirect, Route, Switch } from 'wouter'
import { NotFound } from '../shell/errors.tsx'
import { Events } from './events.tsx'
import { Keys } from './keys.tsx'
import { Requests } from './requests.tsx'

export default function Developers() {
  return (
    <Switch>
      <Route path="/developers">
        <Redirect to="/developers/requests" replace />
      </Route>
      <Route path="/developers/requests" component={Requests} />
      <Route path="/developers/events" component={Events} />
      <Route path="/developers/keys" component={Keys} />
      <Route component={NotFound} />
    </Switch>
  )
}
