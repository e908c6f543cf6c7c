/** Routes of the broadcast pages: list, new broadcast, edit, copy, detail. */
import './broadcasts.css'
import { Route, Switch } from 'wouter'
import { WriterRoute } from '../ui/page.tsx'
import { NewBroadcast } from './compose.tsx'
import { BroadcastDetail } from './detail.tsx'
import { CopyBroadcast, EditBroadcast } from './edit.tsx'
import { BroadcastList } from './list.tsx'

export default function Broadcasts() {
  return (
    <Switch>
      <WriterRoute path="/broadcasts/new" component={NewBroadcast} />
      <WriterRoute path="/broadcasts/:id/edit">{({ id }) => <EditBroadcast key={id} id={id} />}</WriterRoute>
      <WriterRoute path="/broadcasts/:id/copy">{({ id }) => <CopyBroadcast key={id} id={id} />}</WriterRoute>
      <Route path="/broadcasts/:id">{({ id }) => <BroadcastDetail key={id} id={id} />}</Route>
      <Route component={BroadcastList} />
    </Switch>
  )
}
