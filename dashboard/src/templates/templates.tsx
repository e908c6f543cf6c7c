/** Routes of the template pages: list, and template by name and language. */
import './templates.css'
import { Route, Switch } from 'wouter'
import { NotFound } from '../shell/errors.tsx'
import { TemplateDetail } from './detail.tsx'
import { TemplateList } from './list.tsx'

export default function Templates() {
  return (
    <Switch>
      <Route path="/templates/:name/:language">
        {({ name, language }) => <TemplateDetail name={decode(name)} language={decode(language)} />}
      </Route>
      <Route path="/templates" component={TemplateList} />
      <Route component={NotFound} />
    </Switch>
  )
}

/** Returns the input if its percent-encoding is invalid. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
