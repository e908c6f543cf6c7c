/** Routes of the contact pages: list, imports, contact. */
import './contact-panel.css'
import './contacts.css'
import { Route, Switch } from 'wouter'
import { ContactPage } from './contact.tsx'
import { ImportDetail } from './imports/detail.tsx'
import { ImportsPage } from './imports/imports.tsx'
import { ContactList } from './list.tsx'

export default function Contacts() {
  return (
    <Switch>
      <Route path="/contacts" component={ContactList} />
      <Route path="/contacts/import" component={ImportsPage} />
      <Route path="/contacts/import/:id">{({ id }) => <ImportDetail key={id} id={id} />}</Route>
      <Route path="/contacts/:id">{({ id }) => <ContactPage key={id} id={id} />}</Route>
    </Switch>
  )
}
