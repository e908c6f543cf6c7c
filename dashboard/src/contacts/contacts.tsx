/** Routes of the contact pages: list, import, contact. */
import './contact-panel.css'
import './contacts.css'
import { Route, Switch } from 'wouter'
import { WriterRoute } from '../ui/page.tsx'
import { ContactPage } from './contact.tsx'
import { ImportPage } from './import.tsx'
import { ContactList } from './list.tsx'

export default function Contacts() {
  return (
    <Switch>
      <Route path="/contacts" component={ContactList} />
      <WriterRoute path="/contacts/import" component={ImportPage} />
      <Route path="/contacts/:id">{({ id }) => <ContactPage key={id} id={id} />}</Route>
    </Switch>
  )
}
