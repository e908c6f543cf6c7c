/** Routes of the broadcast pages: list, new broadcast, edit, copy, detail. */
import './broadcasts.css'
import { Route, Switch } from 'wouter'
import { WritersOnly } from '../ui/page.tsx'
import { NewBroadcast } from './compose.tsx'
import { BroadcastDetail } from './detail.tsx'
import { CopyBroadcast, EditBroadcast } from './edit.tsx'
import { BroadcastList } from './list.tsx'

export default function Broadcasts() {
  return (
    <Switch>
      <Route path="/broadcasts/new">
        <WritersOnly>
          <NewBroadcast />
        </WritersOnly>
      </Route>
      <Route path="/broadcasts/:id/edit">
        {({ id }) => (
          <WritersOnly>
            <EditBroadcast key={id} id={id} />
          </WritersOnly>
        )}
      </Route>
      <Route path="/broadcasts/:id/copy">
        {({ id }) => (
          <WritersOnly>
            <CopyBroadcast key={id} id={id} />
          </WritersOnly>
        )}
      </Route>
      <Route path="/broadcasts/:id">{({ id }) => <BroadcastDetail key={id} id={id} />}</Route>
      <Route component={BroadcastList} />
    </Switch>
  )
}
