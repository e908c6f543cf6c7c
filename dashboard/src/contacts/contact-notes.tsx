/** Notes about a contact: add, and delete one's own. Only members see them. */

import { useState } from 'react'
import { Button, Form, IconButton, SubmitButton, TextArea } from '../../../ui/controls.tsx'
import { type ItemOf, useChange, usePages } from '../lib/api.ts'
import { useSession } from '../lib/session.tsx'
import { formatBrief } from '../lib/time.ts'
import { ConfirmButton } from '../ui/dialogs.tsx'
import { Time } from '../ui/time.tsx'
import { words } from '../words/words.ts'

const { notes: texts } = words.contactPanel

const keyOf = (contactId: string) => `parley-contact-note-${contactId}`

/** The unsaved note about a contact. It is kept until it is added or the tab is closed. */
export const readContactNote = (contactId: string): string => sessionStorage.getItem(keyOf(contactId)) ?? ''

export function ContactNotes({ contactId }: { contactId: string }) {
  const [text, setText] = useState(() => readContactNote(contactId))
  const write = (value: string) => {
    setText(value)
    sessionStorage.setItem(keyOf(contactId), value)
  }
  const pages = usePages('GET /contacts/{id}/notes', { params: { id: contactId } }, { live: true })
  const add = useChange('POST /contacts/{id}/notes', {
    stale: ['GET /contacts/{id}/notes'],
    // The member may have gone on writing, or left the page.
    onDone: (_, { body }) => readContactNote(contactId) === body.text && write(''),
    reportsError: true,
  })
  const submit = () => {
    if (text.trim()) add.mutate({ params: { id: contactId }, body: { text } })
  }
  return (
    <>
      {pages.items.length > 0 && (
        <ul className="contact-notes">
          {pages.items.map((note) => (
            <Note key={note.id} contactId={contactId} note={note} />
          ))}
        </ul>
      )}
      {pages.hasNextPage && (
        <Button
          label={texts.more}
          size="small"
          variant="quiet"
          busy={pages.isFetchingNextPage}
          onClick={() => pages.fetchNextPage()}
        />
      )}
      <Form className="contact-note-form" onSubmit={submit}>
        <TextArea
          rows={2}
          maxLength={10_000}
          aria-label={texts.placeholder}
          placeholder={texts.placeholder}
          value={text}
          onChange={(event) => write(event.target.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
            event.preventDefault()
            submit()
          }}
        />
        {text.trim() && <SubmitButton label={texts.add} size="small" busy={add.isPending} />}
      </Form>
    </>
  )
}

function Note({ contactId, note }: { contactId: string; note: ItemOf<'GET /contacts/{id}/notes'> }) {
  const { member } = useSession()
  const { id, text, author, created_at: at } = note
  return (
    <li>
      <p dir="auto">{text}</p>
      <div className="soft small">
        <span className="cut">{author.name ?? texts.formerMember}</span>
        <Time at={at} format={formatBrief} />
        {author.id === member.id && (
          <ConfirmButton
            button={<IconButton label={texts.remove} icon="trash" />}
            title={texts.removeTitle}
            text={texts.removeText}
            action={texts.remove}
            danger
            call="DELETE /contacts/{id}/notes/{note_id}"
            input={{ params: { id: contactId, note_id: id } }}
            stale={['GET /contacts/{id}/notes']}
          />
        )}
      </div>
    </li>
  )
}
