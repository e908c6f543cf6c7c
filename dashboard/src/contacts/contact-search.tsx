/** Finds a contact by name, number or email, for dialogs. Enter picks the first match. */
import './contact-search.css'
import { type ReactNode, useEffect, useState } from 'react'
import { Form, SearchInput } from '../../../ui/controls.tsx'
import { Avatar, ErrorNote, Skeleton } from '../../../ui/display.tsx'
import { describeError, type ItemOf, usePages } from '../lib/api.ts'
import { useDebounced } from '../lib/hooks.ts'
import { handleOf, nameOf } from '../lib/people.ts'
import { words } from '../words/words.ts'

const { search: texts } = words.contactPanel

type FoundContact = ItemOf<'GET /contacts'>

type Props = {
  /** A contact that is not offered. */
  exceptId?: string
  onChoose: (contact: FoundContact) => void
  /** Shown below the matches. */
  children?: (search: string, found: readonly FoundContact[]) => ReactNode
}

export function ContactSearch({ exceptId, onChoose, children }: Props) {
  const [search, setSearch] = useState('')
  const wanted = useDebounced(search.trim())
  const query = usePages('GET /contacts', { query: { search: wanted, limit: 20 } }, { keepPrevious: true })
  const found = query.items.filter(({ id }) => id !== exceptId)
  // Enter waits until the list shows the matches of the whole text.
  const [isEntered, setEntered] = useState(false)
  const isSettled = wanted === search.trim() && !query.isPlaceholderData && !query.isPending
  const [first] = found
  useEffect(() => {
    if (!isEntered || !isSettled) return
    setEntered(false)
    if (first) onChoose(first)
  }, [isEntered, isSettled, first, onChoose])
  const submit = () => setEntered(true)
  return (
    <Form onSubmit={submit} className="stack">
      <SearchInput
        label={texts.label}
        autoComplete="off"
        value={search}
        onChange={(event) => {
          setSearch(event.target.value)
          setEntered(false)
        }}
      />
      {query.error && !query.data && <ErrorNote>{describeError(query.error)}</ErrorNote>}
      {query.isPending ? (
        <Skeleton lines={4} />
      ) : (
        <ul className="contact-choices" aria-label={texts.contacts}>
          {found.map((contact) => (
            <li key={contact.id}>
              <button type="button" onClick={() => onChoose(contact)}>
                <Avatar name={nameOf(contact)} />
                <span className="grow column">
                  <span className="cut">{nameOf(contact)}</span>
                  <bdi className="soft small cut">{handleOf(contact) || contact.email}</bdi>
                </span>
              </button>
            </li>
          ))}
        </ul>
      )}
      {query.data && found.length === 0 && <p className="soft">{texts.none(wanted)}</p>}
      {!query.isPending && children?.(search.trim(), found)}
    </Form>
  )
}
