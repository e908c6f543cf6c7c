/** The page of a contact: details, attributes, notes, duplicates, conversations, history, broadcast opt-out and erasure. */
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { Button, Field, Form, InputField, SubmitButton } from '../../../ui/controls.tsx'
import { Avatar, Badge, Card, ErrorNote } from '../../../ui/display.tsx'
import { StartConversation } from '../inbox/composer/start-button.tsx'
import { type DataOf, useCall, useChange, usePages } from '../lib/api.ts'
import { useConnectionNames } from '../lib/connections.ts'
import { type Conversation, isAutomated } from '../lib/conversation-lists.ts'
import { fieldErrorsOf, useFocusOnError } from '../lib/field-errors.ts'
import { nameOf, usernamesOf } from '../lib/people.ts'
import { useIsManager, useSeesAll } from '../lib/session.tsx'
import { formatBrief, formatDate } from '../lib/time.ts'
import { ItemNotFound } from '../shell/errors.tsx'
import { withoutMarks } from '../templates/formatted-text.tsx'
import { ChannelMark } from '../ui/channel.tsx'
import { ConfirmButton } from '../ui/dialogs.tsx'
import { Facts } from '../ui/facts.tsx'
import { LeaveGuard } from '../ui/leave-guard.tsx'
import { Page, QueryView, ViewerNote, WriteAccess } from '../ui/page.tsx'
import { words } from '../words/words.ts'
import { Attributes } from './attributes.tsx'
import { ContactNotes } from './contact-notes.tsx'
import { Duplicates, useDuplicates } from './duplicates.tsx'
import { History } from './history.tsx'
import { MergeWith } from './merge-with.tsx'
import { OptOutSwitch } from './opt-out-switch.tsx'
import { Ratings, useRatings } from './ratings.tsx'
import { TagInput } from './tag-input.tsx'
import { useVisit, VisitFacts } from './visit.tsx'

const { contacts } = words
const texts = contacts.contact
const panel = words.contactPanel

type Contact = DataOf<'GET /contacts/{id}'>

export function ContactPage({ id }: { id: string }) {
  const query = useCall('GET /contacts/{id}', { params: { id } }, { live: true })
  return (
    <QueryView query={query} notFound={<ItemNotFound {...texts.notFound} href="/contacts" />}>
      {(contact) => <ContactDetails contact={contact} />}
    </QueryView>
  )
}

function ContactDetails({ contact }: { contact: Contact }) {
  const isManager = useIsManager()
  const [, navigate] = useLocation()
  const duplicates = useDuplicates(contact.id)
  const ratings = useRatings(contact.id)
  const visit = useVisit(contact.id, contact.channels.includes('web'))
  const name = nameOf(contact)
  const openMerged = (id: string) => navigate(`/contacts/${id}`, { replace: true })
  return (
    <Page
      title={name}
      mark={<Avatar name={name} size="large" />}
      lead={texts.since(formatDate(contact.created_at))}
      back={{ href: '/contacts', label: texts.back }}
      actions={
        <>
          <MergeWith contact={contact} onMerged={openMerged} />
          <StartConversation contact={contact} />
        </>
      }
    >
      <ViewerNote />
      <div className="contacts-columns">
        <div className="stack">
          <Card title={texts.details}>
            <WriteAccess>
              <ContactForm contact={contact} />
            </WriteAccess>
          </Card>
          <Card title={panel.attributes.title}>
            <WriteAccess>
              <Attributes key={contact.id} contact={contact} />
            </WriteAccess>
          </Card>
          <Card title={panel.notes.title}>
            <WriteAccess>
              <ContactNotes key={contact.id} contactId={contact.id} />
            </WriteAccess>
          </Card>
        </div>
        <div className="stack">
          {duplicates.length > 0 && (
            <Card title={panel.duplicates.title}>
              <WriteAccess>
                <Duplicates contact={contact} duplicates={duplicates} onMerged={openMerged} />
              </WriteAccess>
            </Card>
          )}
          <Card title={texts.conversations} flush>
            <Conversations contactId={contact.id} />
          </Card>
          {ratings.items.length > 0 && (
            <Card title={panel.ratings.title}>
              <Ratings ratings={ratings} />
            </Card>
          )}
          <Card title={panel.history.title} flush>
            <History contactId={contact.id} />
          </Card>
          <Card>
            <WriteAccess>
              <OptOutSwitch contact={contact} hint={contacts.optOut.hint} />
            </WriteAccess>
          </Card>
          {visit && (
            <Card title={panel.visit.title}>
              <VisitFacts visit={visit} />
            </Card>
          )}
          {isManager && (
            <Card title={texts.danger}>
              <EraseContact contact={contact} />
            </Card>
          )}
        </div>
      </div>
    </Page>
  )
}

function Conversations({ contactId }: { contactId: string }) {
  const seesAll = useSeesAll()
  const pages = usePages('GET /conversations', { query: { contact_id: contactId } }, { live: true })
  const connectionNameOf = useConnectionNames()
  return (
    <QueryView query={pages} lines={3}>
      {() =>
        pages.items.length === 0 ? (
          <p className="card-body soft">{seesAll ? texts.noConversations : texts.noVisibleConversations}</p>
        ) : (
          <ul className="contacts-conversations lined">
            {pages.items.map((row) => {
              const { id, channel, connection, last_message_text: text, last_message_at: at } = row
              return (
                <li key={id}>
                  <Link href={`/inbox/${id}`}>
                    <ChannelMark channel={channel} />
                    <span className="grow">
                      <strong>
                        {[words.channels[channel], connectionNameOf({ channel, connection })]
                          .filter(Boolean)
                          .join(' · ')}
                      </strong>
                      <span className="soft small cut">
                        {text && (channel === 'social' ? text : withoutMarks(text))}
                      </span>
                    </span>
                    <ConversationStatus conversation={row} />
                    {at && <span className="soft small nowrap">{formatBrief(at)}</span>}
                  </Link>
                </li>
              )
            })}
          </ul>
        )
      }
    </QueryView>
  )
}

function ConversationStatus({ conversation }: { conversation: Conversation }) {
  const { status } = conversation
  if (isAutomated(conversation)) {
    return (
      <span title={words.automatedHint}>
        <Badge>{words.automatedStatus}</Badge>
      </span>
    )
  }
  return <Badge tone={status === 'open' ? 'green' : undefined}>{words.statuses[status]}</Badge>
}

function EraseContact({ contact }: { contact: Contact }) {
  const [, navigate] = useLocation()
  const [typed, setTyped] = useState('')
  return (
    <>
      <p className="soft">{texts.eraseText}</p>
      <div>
        <ConfirmButton
          button={<Button label={texts.erase} icon="trash" variant="danger" />}
          title={texts.eraseTitle(nameOf(contact))}
          action={texts.eraseDo}
          danger
          call="DELETE /contacts/{id}"
          input={{ params: { id: contact.id } }}
          stale={['GET /contacts', 'GET /conversations']}
          done={texts.erased}
          onDone={() => navigate('/contacts', { replace: true })}
          isReady={typed.trim().toLowerCase() === texts.eraseWord}
        >
          <div className="stack">
            <p>{texts.eraseText}</p>
            <InputField
              label={texts.eraseType(texts.eraseWord)}
              value={typed}
              autoComplete="off"
              onChange={(event) => setTyped(event.target.value)}
            />
          </div>
        </ConfirmButton>
      </div>
    </>
  )
}

const fieldNames = ['name', 'email', 'company', 'tags'] as const
type Name = (typeof fieldNames)[number]

/** Edits a contact. Phone number, username and channels identify the contact and cannot be changed. */
function ContactForm({ contact }: { contact: Contact }) {
  const stored = {
    name: contact.name ?? '',
    email: contact.email ?? '',
    company: contact.company ?? '',
    tags: contact.tags.map(({ name }) => name),
  }
  /** Only the edited fields. The others follow changes by other members. */
  const [edits, setEdits] = useState<Partial<typeof stored>>({})
  const fields = { ...stored, ...edits }
  const change = useChange('PATCH /contacts/{id}', {
    stale: ['GET /contacts/{id}', 'GET /contacts', 'GET /tags', 'GET /conversations'],
    done: contacts.saved,
    // What was typed during the save is not saved yet.
    onDone: (_, { body }) =>
      setEdits((now) =>
        Object.fromEntries(Object.entries(now).filter(([name, value]) => body[name as Name] !== value)),
      ),
  })
  const submit = () => change.mutate({ params: { id: contact.id }, body: edits })
  const errors = fieldErrorsOf(change.error, fieldNames)
  useFocusOnError(change.error)
  const bind = (name: 'name' | 'email' | 'company') => ({
    label: contacts[name],
    error: errors[name],
    autoComplete: 'off',
    value: fields[name],
    onChange: (event: { target: { value: string } }) => setEdits((now) => ({ ...now, [name]: event.target.value })),
  })
  const isChanged = Object.keys(edits).length > 0
  return (
    <Form className="stack" onSubmit={submit}>
      <Facts
        facts={{
          [contacts.phone]: contact.phone && <bdi>{contact.phone}</bdi>,
          [contacts.username]: usernamesOf(contact),
          [contacts.channels]:
            contact.channels.map((channel) => words.channels[channel]).join(', ') || words.common.none,
        }}
      />
      <LeaveGuard isChanged={isChanged && !change.isPending} />
      <InputField {...bind('name')} maxLength={500} />
      <InputField {...bind('email')} inputMode="email" maxLength={320} />
      <InputField {...bind('company')} maxLength={500} />
      <Field label={contacts.tags} error={errors.tags}>
        {() => <TagInput names={fields.tags} onChange={(tags) => setEdits((now) => ({ ...now, tags }))} />}
      </Field>
      {errors.rest && <ErrorNote>{errors.rest}</ErrorNote>}
      <div className="row">
        <SubmitButton label={words.common.save} disabled={!isChanged} busy={change.isPending} />
        {isChanged && <Button label={words.common.cancel} onClick={() => setEdits({})} />}
      </div>
    </Form>
  )
}
