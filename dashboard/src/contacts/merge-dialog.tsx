/** Merges two contacts: finds the other one, shows both and the result, lets the member choose which one stays, and asks before it merges. */
import { useState } from 'react'
import { Button } from '../../../ui/controls.tsx'
import { ErrorNote, Note } from '../../../ui/display.tsx'
import { Dialog } from '../../../ui/overlays.tsx'
import { type DataOf, describeError, useChange, usePages } from '../lib/api.ts'
import { useConnectionNames } from '../lib/connections.ts'
import { handleOf, nameOf } from '../lib/people.ts'
import { words } from '../words/words.ts'
import { ContactSearch } from './contact-search.tsx'

const { merge: texts } = words.contactPanel

type Contact = DataOf<'GET /contacts/{id}'>
type Props = {
  contact: Contact
  /** Undefined: the member searches for it. */
  other?: Contact
  onClose: () => void
  /** Called with the id of the contact that stays. */
  onMerged: (id: string) => void
}

const fields = ['name', 'phone', 'email', 'company', 'social_username', 'username'] as const

export function MergeDialog({ contact, other, onClose, onMerged }: Props) {
  const [chosen, setChosen] = useState<Contact | undefined>(other)
  if (chosen) {
    const change = () => setChosen(undefined)
    return <Review contact={contact} other={chosen} onChange={change} onClose={onClose} onMerged={onMerged} />
  }
  return (
    <Dialog title={texts.chooseTitle(nameOf(contact))} onClose={onClose}>
      <ContactSearch exceptId={contact.id} onChoose={setChosen} />
    </Dialog>
  )
}

type ReviewProps = Required<Props> & { onChange: () => void }

function Review({ contact, other, onChange, onClose, onMerged }: ReviewProps) {
  const [isSwapped, setSwapped] = useState(false)
  const [to, from] = isSwapped ? [other, contact] : [contact, other]
  const merge = useChange('POST /contacts/{id}/merge', {
    stale: [
      'GET /contacts/{id}',
      'GET /contacts',
      'GET /conversations',
      'GET /conversations/{id}',
      'GET /contacts/{id}/duplicates',
    ],
    done: texts.done,
    onDone: ({ id }) => onMerged(id),
  })
  const toConversations = useConversationsOf(to.id)
  const fromConversations = useConversationsOf(from.id)
  const connectionNameOf = useConnectionNames()
  // A contact has at most one conversation per connection.
  const joined = toConversations.filter(({ connection }) =>
    fromConversations.some((other) => other.connection?.id === connection?.id),
  )
  // Both phone numbers keep working, so neither is lost.
  const lost = [
    ...fields
      .filter((field) => field !== 'phone' && to[field] && from[field] && to[field] !== from[field])
      .map((field) => texts.fields[field]),
    ...Object.keys(from.attributes).filter(
      (name) => name in to.attributes && to.attributes[name] !== from.attributes[name],
    ),
  ]
  const hints = [
    joined.length > 0 &&
      texts.joined(joined.map((each) => connectionNameOf(each) ?? words.channels[each.channel]).join(', ')),
    to.phone && from.phone && texts.bothNumbers(from.phone),
    [...toConversations, ...fromConversations].some(isWeb) && texts.webVisitor,
    joined.some(isWeb) && texts.webHistory,
    lost.length > 0 && texts.lost(distinctNames(from, to)[0], lost.join(', ')),
    (to.opted_out_at || from.opted_out_at) && texts.optedOut,
  ].filter((hint) => typeof hint === 'string')
  return (
    <Dialog title={texts.title} size="wide" onClose={onClose}>
      <p>{texts.lead(...distinctNames(from, to))}</p>
      <div className="merge-table">
        <table>
          <thead>
            <tr>
              <td />
              <th scope="col">{texts.keeps}</th>
              <th scope="col">{texts.goes}</th>
              <th scope="col">{texts.result}</th>
            </tr>
          </thead>
          <tbody>
            {fields
              .filter((field) => to[field] || from[field])
              .map((field) => (
                <tr key={field}>
                  <th scope="row">{texts.fields[field]}</th>
                  <td>{to[field] ?? texts.none}</td>
                  <td className="soft">{from[field] ?? texts.none}</td>
                  <td>{to[field] ?? from[field]}</td>
                </tr>
              ))}
            <tr>
              <th scope="row">{words.contacts.contact.conversations}</th>
              <td>{toConversations.length}</td>
              <td className="soft">{fromConversations.length}</td>
              <td>{toConversations.length + fromConversations.length - joined.length}</td>
            </tr>
            <tr>
              <th scope="row">{words.contacts.tags}</th>
              <td>{namesOf(to.tags)}</td>
              <td className="soft">{namesOf(from.tags)}</td>
              <td>{namesOf([...to.tags, ...from.tags.filter(({ id }) => !to.tags.some((tag) => tag.id === id))])}</td>
            </tr>
            <tr>
              <th scope="row">{words.contactPanel.attributes.title}</th>
              <td>{Object.keys(to.attributes).join(', ') || texts.none}</td>
              <td className="soft">{Object.keys(from.attributes).join(', ') || texts.none}</td>
              <td>{Object.keys({ ...from.attributes, ...to.attributes }).join(', ') || texts.none}</td>
            </tr>
          </tbody>
        </table>
      </div>
      {hints.length > 0 && (
        <Note>
          <ul className="stack merge-hints">
            {hints.map((hint) => (
              <li key={hint}>{hint}</li>
            ))}
          </ul>
        </Note>
      )}
      {merge.error && <ErrorNote>{describeError(merge.error)}</ErrorNote>}
      <div className="dialog-foot">
        <Button label={texts.swap} icon="refresh" disabled={merge.isPending} onClick={() => setSwapped(!isSwapped)} />
        <Button label={texts.chooseOther} icon="search" disabled={merge.isPending} onClick={onChange} />
        <Button label={words.common.cancel} onClick={onClose} />
        <Button
          label={texts.action}
          variant="danger"
          busy={merge.isPending}
          onClick={() => merge.mutate({ params: { id: to.id }, body: { contact_id: from.id } })}
        />
      </div>
    </Dialog>
  )
}

/** The names of two contacts; with their numbers or user names when the names are equal. */
function distinctNames(one: Contact, other: Contact): [string, string] {
  const isSame = nameOf(one) === nameOf(other)
  const nameWith = (contact: Contact) =>
    isSame ? `${nameOf(contact)} (${handleOf(contact) || (contact.email ?? '')})` : nameOf(contact)
  return [nameWith(one), nameWith(other)]
}

const namesOf = (tags: readonly { name: string }[]): string => tags.map(({ name }) => name).join(', ') || texts.none

const useConversationsOf = (id: string) => usePages('GET /conversations', { query: { contact_id: id } }).items

const isWeb = ({ channel }: { channel: string }): boolean => channel === 'web'
