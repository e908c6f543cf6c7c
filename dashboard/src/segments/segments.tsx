/** Routes of the segment pages: list, new segment, segment, edit. */
import './segments.css'
import { Route, Switch } from 'wouter'
import { WriterRoute } from '../ui/page.tsx'
import { EditSegment, NewSegment } from './edit.tsx'
import { SegmentList } from './list.tsx'
import { SegmentPage } from './segment.tsx'

export default function Segments() {
  return (
    <Switch>
      <Route path="/segments" component={SegmentList} />
      <WriterRoute path="/segments/new" component={NewSegment} />
      <WriterRoute path="/segments/:id/edit">{({ id }) => <EditSegment key={id} id={id} />}</WriterRoute>
      <Route path="/segments/:id">{({ id }) => <SegmentPage key={id} id={id} />}</Route>
    </Switch>
  )
}
