/** Templates: all of them, and one by its name and language. */
import './templates.css'
import { Route, Switch } from 'wouter'
import { TemplateDetail } from './detail.tsx'
import { TemplateList } from './list.tsx'

export default function Templates() {
  return (
    <Switch>
      <Route path="/templates/:name/:language">
        {({ name, language }) => <TemplateDetail name={decode(name)} language={decode(language)} />}
      </Route>
      <Route component={TemplateList} />
    </Switch>
  )
}

/** What was typed by hand may be no encoding at all. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
