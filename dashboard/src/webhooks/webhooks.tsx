/** Routes of the webhook pages: list of endpoints, endpoint. */
import './webhooks.css'
import { Route, Switch } from 'wouter'
import { NotFound } from '../shell/errors.tsx'
import { EndpointPage } from './detail.tsx'
import { EndpointList } from './list.tsx'

export default function Webhooks() {
  return (
    <Switch>
      <Route path="/webhooks" component={EndpointList} />
      <Route path="/webhooks/:id">{({ id }) => <EndpointPage key={id} id={id} />}</Route>
      <Route component={NotFound} />
    </Switch>
  )
}
