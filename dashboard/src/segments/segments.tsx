/** Routes of the segment pages: list, new segment, segment, edit. */
import './segments.css'
import { Route, Switch } from 'wouter'
import { WritersOnly } from '../ui/page.tsx'
import { EditSegment, NewSegment } from './edit.tsx'
import { SegmentList } from './list.tsx'
import { SegmentPage } from './segment.tsx'

export default function Segments() {
  return (
    <Switch>
      <Route path="/segments" component={SegmentList} />
      <Route path="/segments/new">
        <WritersOnly>
          <NewSegment />
        </WritersOnly>
      </Route>
      <Route path="/segments/:id/edit">
        {({ id }) => (
          <WritersOnly>
            <EditSegment key={id} id={id} />
          </WritersOnly>
        )}
      </Route>
      <Route path="/segments/:id">{({ id }) => <SegmentPage key={id} id={id} />}</Route>
    </Switch>
  )
}
