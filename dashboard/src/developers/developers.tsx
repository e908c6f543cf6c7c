/** Routes of the pages for developers: requests and events. Webhooks have a folder of their own. */
import '../webhooks/webhooks.css'
import './developers.css'
import { Redirect, Route, Switch } from 'wouter'
import { NotFound } from '../shell/errors.tsx'
import { Events } from './events.tsx'
import { Requests } from './requests.tsx'

export default function Developers() {
  return (
    <Switch>
      <Route path="/developers">
        <Redirect to="/developers/requests" replace />
      </Route>
      <Route path="/developers/requests" component={Requests} />
      <Route path="/developers/events" component={Events} />
      <Route component={NotFound} />
    </Switch>
  )
}
