/**
 * The contact panel: everything the team knows about a contact, and the contact's other conversations. What the channel of the open
 * conversation knows comes first, and sections without content are folded.
 */
import { type ReactNode, useEffect, useState } from 'react'
import { Link, useLocation, useSearch } from 'wouter'
import { Button, Form, InputField } from '../../../../ui/controls.tsx'
import { Avatar, ErrorNote, Note } from '../../../../ui/display.tsx'
import { Icon, type IconName } from '../../../../ui/icon.tsx'
import { Attributes } from '../../contacts/attributes.tsx'
import { ContactNotes, readContactNote } from '../../contacts/contact-notes.tsx'
import { Duplicates, useDuplicates } from '../../contacts/duplicates.tsx'
import { MergeWith } from '../../contacts/merge-with.tsx'
import { OptOutSwitch } from '../../contacts/opt-out-switch.tsx'
import { Ratings, useRatings } from '../../contacts/ratings.tsx'
import { useVisit, VisitFacts } from '../../contacts/visit.tsx'
import { call, useCall, useChange, usePages } from '../../lib/api.ts'
import { useConnectionNames } from '../../lib/connections.ts'
import { isAutomated } from '../../lib/conversation-lists.ts'
import { useFormFields } from '../../lib/field-errors.ts'
import { nameOf, usernamesOf } from '../../lib/people.ts'
import { formatBrief, formatDate } from '../../lib/time.ts'
import { ChannelMark } from '../../ui/channel.tsx'
import { LabelChip } from '../../ui/label.tsx'
import { QueryView, WriteAccess } from '../../ui/page.tsx'
import { words } from '../../words/words.ts'
import { openDialog } from '../actions/dialogs.tsx'
import { useConversation } from '../model/conversations.ts'
import { type Contact, type Conversation, contactQueries, sortedAt, typeLabelOf } from '../model/data.ts'
import { hrefOf } from '../model/filters.ts'
import { useConversations } from '../model/live-pages.ts'
import { useModeration } from '../model/moderation.ts'
import { HasFormatting, Preview } from '../thread/text.tsx'
import { ContactTags } from './contact-tags.tsx'

const { contact: labels, flow } = words.inbox
const panel = words.contactPanel

export function ContactPanel({ id, conversationId }: { id: string; conversationId: string }) {
  const query = useCall('GET /contacts/{id}', { params: { id } }, { live: true })
  const followMerged = useFollowMerged(conversationId)
  const { conversation } = useConversation(conversationId)
  const notes = usePages('GET /contacts/{id}/notes', { params: { id } }, { live: true })
  const ratings = useRatings(id)
  const isWeb = conversation?.channel === 'web'
  return (
    <div className="inbox-contact">
      <QueryView query={query} lines={8}>
        {(contact) => (
          <>
            <WriteAccess>
              <Identity key={contact.id} contact={contact} conversation={conversation} onMerged={followMerged} />
              <DuplicateSection contact={contact} onMerged={followMerged} />
            </WriteAccess>
            {isWeb && <VisitSection contact={contact} />}
            <WriteAccess>
              {conversation && <LabelSection conversation={conversation} />}
              <Section title={labels.tags} isEmpty={contact.tags.length === 0}>
                <ContactTags contact={contact} />
              </Section>
              <Section title={panel.notes.title} isEmpty={notes.items.length === 0 && !readContactNote(contact.id)}>
                <ContactNotes key={contact.id} contactId={contact.id} />
              </Section>
              <Section title={panel.attributes.title} isEmpty={Object.keys(contact.attributes).length === 0}>
                <Attributes key={contact.id} contact={contact} />
              </Section>
              {/* Only this channel has broadcasts. */}
              {(contact.channels.includes('msgapp') || contact.opted_out) && (
                <Section title={labels.broadcasts} isEmpty={isWeb && !contact.opted_out}>
                  <OptOutSwitch contact={contact} />
                </Section>
              )}
            </WriteAccess>
            {ratings.items.length > 0 && (
              <Section title={panel.ratings.title} isEmpty={false}>
                <Ratings ratings={ratings} />
              </Section>
            )}
            {!isWeb && <VisitSection contact={contact} />}
            <OtherConversations contactId={id} conversationId={conversationId} />
            <Link href={`/contacts/${id}`} className="line inbox-contact-whole">
              {labels.viewContact}
              <Icon name="right" />
            </Link>
          </>
        )}
      </QueryView>
    </div>
  )
}

type SectionProps = { title: string; isEmpty: boolean; children: ReactNode }

/** A section that starts folded when it is empty. Content that appears unfolds it; the member folds and unfolds it at any time. */
function Section({ title, isEmpty, children }: SectionProps) {
  const [isOpen, setOpen] = useState(!isEmpty)
  const [wasEmpty, setWasEmpty] = useState(isEmpty)
  if (wasEmpty !== isEmpty) {
    setWasEmpty(isEmpty)
    if (!isEmpty) setOpen(true)
  }
  return (
    <details className="inbox-contact-fold" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <h3>{title}</h3>
        <Icon name="chevron" />
      </summary>
      <div>{children}</div>
    </details>
  )
}

type Mergeable = { contact: Contact; onMerged: (id: string) => void }

type IdentityProps = Mergeable & { conversation: Conversation | undefined }

function Identity({ contact, conversation, onMerged }: IdentityProps) {
  const [isEditing, setEditing] = useState(() => readEdits(contact.id) !== undefined)
  const { phone, email, company, created_at: since } = contact
  const facts: [IconName, string, string | null][] = [
    ['phone', labels.phone, phone],
    ['person', labels.username, usernamesOf(contact)],
    ['mail', labels.email, email],
    ['company', labels.company, company],
  ]
  return (
    <section>
      <div className="stack inbox-contact-who">
        <Avatar name={nameOf(contact)} size="large" />
        <h2>{nameOf(contact)}</h2>
        <p className="soft small">
          {labels.firstSeen} <time dateTime={since}>{formatDate(since)}</time>
        </p>
      </div>
      {isEditing ? (
        <ContactForm contact={contact} onDone={() => setEditing(false)} />
      ) : (
        <>
          <ul className="stack inbox-facts">
            {facts.map(
              ([icon, label, value]) =>
                value && (
                  <li key={label} title={label}>
                    <Icon name={icon} />
                    <span>
                      <span className="offscreen">{label}: </span>
                      <bdi>{value}</bdi>
                    </span>
                  </li>
                ),
            )}
          </ul>
          <div className="inbox-contact-actions">
            <Button label={labels.edit} size="small" icon="edit" onClick={() => setEditing(true)} />
            <MergeWith contact={contact} size="small" onMerged={onMerged} />
            {conversation && <Moderation conversation={conversation} />}
          </div>
          {conversation?.blocked_at && <BlockedNote conversation={conversation} />}
        </>
      )}
    </section>
  )
}

function Moderation({ conversation: { id, blocked_at: blockedAt, unread_count } }: { conversation: Conversation }) {
  const isRead = unread_count === 0
  const { mark, setBlocked } = useModeration()
  const [isBusy, setBusy] = useState(false)
  const toggleBlocked = () => {
    setBusy(true)
    void setBlocked(id, blockedAt === null).finally(() => setBusy(false))
  }
  return (
    <>
      <Button label={labels.mark(isRead)} size="small" icon="mail" onClick={() => void mark([id], isRead)} />
      <Button
        label={blockedAt ? labels.unblock : labels.block}
        size="small"
        icon="off"
        busy={isBusy}
        onClick={toggleBlocked}
      />
    </>
  )
}

function BlockedNote({ conversation: { blocked_at, is_channel_blocked } }: { conversation: Conversation }) {
  const at = formatDate(blocked_at ?? '')
  return <Note tone="amber">{is_channel_blocked ? labels.blockedByChannel(at) : labels.blockedHere(at)}</Note>
}

/** The labels of the open conversation; unlike tags, they do not belong to the contact. */
function LabelSection({ conversation: { id: conversationId, labels: all } }: { conversation: Conversation }) {
  return (
    <Section title={flow.labels} isEmpty={all.length === 0}>
      {all.length > 0 && (
        <div className="inbox-tags">
          {all.map(({ id, name, color }) => (
            <LabelChip key={id} name={name} color={color} />
          ))}
        </div>
      )}
      <Button
        label={words.inbox.commands.label}
        size="small"
        icon="label"
        data-opens="labels"
        onClick={() => openDialog({ kind: 'labels', ids: [conversationId] })}
      />
    </Section>
  )
}

/** Opens the conversation that has the messages of the open one after a merge: the open one may be gone. */
function useFollowMerged(conversationId: string): (contactId: string) => void {
  const [, navigate] = useLocation()
  const search = useSearch()
  const follow = async (contactId: string) => {
    const { data } = await call('GET /conversations', { query: { contact_id: contactId } })
    const next = data.find((other) => other.id === conversationId) ?? data[0]
    if (next && next.id !== conversationId) navigate(hrefOf(search, next.id), { replace: true })
  }
  return (contactId) => void follow(contactId)
}

function DuplicateSection({ contact, onMerged }: Mergeable) {
  const duplicates = useDuplicates(contact.id)
  if (duplicates.length === 0) return null
  return (
    <section>
      <h3>{panel.duplicates.title}</h3>
      <Duplicates contact={contact} duplicates={duplicates} onMerged={onMerged} />
    </section>
  )
}

function VisitSection({ contact: { id, channels } }: { contact: Contact }) {
  const visit = useVisit(id, channels.includes('web'))
  if (!visit) return null
  return (
    <section>
      <h3>{panel.visit.title}</h3>
      <VisitFacts visit={visit} />
    </section>
  )
}

function OtherConversations({ contactId, conversationId }: { contactId: string; conversationId: string }) {
  const search = useSearch()
  const { items } = useConversations({ contact_id: contactId })
  const connectionNameOf = useConnectionNames()
  const others = items.filter(({ id, contact_id }) => id !== conversationId && contact_id === contactId)
  if (others.length === 0) return null
  return (
    <section>
      <h3>{labels.others}</h3>
      <ul className="inbox-others">
        {others.map((other) => (
          <li key={other.id}>
            <Link href={hrefOf(search, other.id)}>
              <ChannelMark channel={other.channel} />
              <span className="grow column">
                <span className="cut">
                  {/* The mark has the name of the channel. */}
                  {[
                    connectionNameOf(other) ?? words.channels[other.channel],
                    isAutomated(other) ? words.automatedStatus : words.statuses[other.status],
                  ].join(' · ')}
                </span>
                <span className="cut soft">
                  <HasFormatting value={other.channel !== 'social'}>
                    <Preview
                      text={
                        other.last_message?.content_text || (other.last_message ? typeLabelOf(other.last_message) : '')
                      }
                    />
                  </HasFormatting>
                </span>
              </span>
              <time dateTime={sortedAt(other)}>{formatBrief(sortedAt(other))}</time>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  )
}

const names = ['name', 'email', 'company'] as const
type Edits = Partial<Record<(typeof names)[number], string>>

/** The unsaved fields of a contact. They are kept until they are saved or canceled, or the tab is closed. */
const editsKey = (contactId: string) => `parley-contact-edits-${contactId}`
const readEdits = (contactId: string): Edits | undefined =>
  JSON.parse(sessionStorage.getItem(editsKey(contactId)) ?? 'null') ?? undefined

/** Edits a contact inside the contact panel. An error of the service is shown at the field it names. */
function ContactForm({ contact, onDone }: { contact: Contact; onDone: () => void }) {
  const done = () => {
    sessionStorage.removeItem(editsKey(contact.id))
    onDone()
  }
  const change = useChange('PATCH /contacts/{id}', { stale: contactQueries, done: labels.saved, onDone: done })
  const initial = { name: contact.name ?? '', email: contact.email ?? '', company: contact.company ?? '' }
  const [edits] = useState(() => readEdits(contact.id))
  const { values, errors, bind } = useFormFields({ ...initial, ...edits }, change.error)
  const submit = () => change.mutate({ params: { id: contact.id }, body: values })
  const changed = JSON.stringify(
    Object.fromEntries(names.flatMap((name) => (values[name] === initial[name] ? [] : [[name, values[name]]]))),
  )
  useEffect(() => {
    if (changed === '{}') sessionStorage.removeItem(editsKey(contact.id))
    else sessionStorage.setItem(editsKey(contact.id), changed)
  }, [changed, contact.id])
  return (
    <Form className="stack inbox-contact-form" onSubmit={submit} noValidate>
      {names.map((name, index) => (
        <InputField
          key={name}
          label={labels[name]}
          type={name === 'email' ? 'email' : 'text'}
          autoComplete="off"
          autoFocus={index === 0}
          {...bind(name)}
        />
      ))}
      {errors.rest && <ErrorNote>{errors.rest}</ErrorNote>}
      <div className="row">
        <Button label={labels.save} type="submit" size="small" variant="primary" busy={change.isPending} />
        <Button label={words.common.cancel} size="small" onClick={done} />
      </div>
    </Form>
  )
}
