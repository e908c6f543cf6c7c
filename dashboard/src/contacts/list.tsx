/** The list of contacts, newest first, with search and filters. Search and filters are stored in the URL. */
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { Button, Checkbox, Field, InputField, SearchInput, Select } from '../../../ui/controls.tsx'
import { Avatar, Badge, EmptyState } from '../../../ui/display.tsx'
import { StartConversation } from '../inbox/composer/start-button.tsx'
import { type ItemOf, pathOf, useCall, useChange, usePages } from '../lib/api.ts'
import { useFormFields } from '../lib/field-errors.ts'
import { useUrlFilters } from '../lib/hooks.ts'
import { nameOf } from '../lib/people.ts'
import { useCanWrite, useIsManager } from '../lib/session.tsx'
import { formatDate } from '../lib/time.ts'
import { ChannelMark, type ChannelName } from '../ui/channel.tsx'
import { FormDialog } from '../ui/dialogs.tsx'
import { AnchorButton, LinkButton } from '../ui/link-button.tsx'
import { Page, PagedList, ViewerNote } from '../ui/page.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { Tag } from '../ui/tag.tsx'
import { words } from '../words/words.ts'
import { TagInput } from './tag-input.tsx'
import { TagList } from './tag-list.tsx'

const { contacts } = words
const channelNames: readonly ChannelName[] = ['msgapp', 'social', 'web']

export function ContactList() {
  const isManager = useIsManager()
  const canWrite = useCanWrite()
  const [, navigate] = useLocation()
  const [open, setOpen] = useState<'new' | 'tags'>()
  const filters = useUrlFilters(['tag', 'channel', 'opted_out'], ['search'])
  const { channel: channelInUrl, opted_out: optedOut, ...others } = filters.query
  const channel = channelNames.find((name) => name === channelInUrl)
  const query = {
    ...others,
    ...(channel ? { channel } : {}),
    ...(optedOut ? { opted_out: 'true' as const } : {}),
  }
  const pages = usePages('GET /contacts', { query }, { keepPrevious: true })
  const tags = useCall('GET /tags', {})
  const isFiltered = Object.keys(query).length > 0
  const add = <Button label={contacts.add} variant="primary" icon="plus" onClick={() => setOpen('new')} />
  const importLink = isManager && <LinkButton label={contacts.import} href="/contacts/import" icon="upload" />
  return (
    <Page
      title={contacts.title}
      lead={contacts.lead}
      actions={
        <>
          {isManager && (
            <>
              {importLink}
              <AnchorButton
                label={contacts.export}
                icon="download"
                href={pathOf('GET /contacts.csv', { query })}
                download
              />
            </>
          )}
          {canWrite && (
            <>
              <Button label={contacts.tags} icon="tag" onClick={() => setOpen('tags')} />
              {add}
            </>
          )}
        </>
      }
    >
      <ViewerNote />
      <search className="row toolbar">
        <SearchInput label={contacts.search} {...filters.bind('search')} />
        <Select
          aria-label={contacts.tags}
          options={[['', contacts.anyTag], ...(tags.data ?? []).map(({ id, name }) => [id, name] as const)]}
          {...filters.bind('tag')}
        />
        <Select
          aria-label={contacts.channels}
          options={[['', contacts.anyChannel], ...Object.entries(words.channels)]}
          {...filters.bind('channel')}
        />
        <Checkbox
          label={contacts.optedOut}
          checked={optedOut === 'true'}
          onChange={({ target }) => filters.set('opted_out', target.checked ? 'true' : '')}
        />
      </search>
      <div className="card">
        <PagedList
          pages={pages}
          empty={
            isFiltered ? (
              <EmptyState
                icon="search"
                title={contacts.noMatch}
                text={contacts.noMatchText}
                action={<Button label={contacts.clear} onClick={() => navigate('/contacts')} />}
              />
            ) : (
              <EmptyState
                icon="contacts"
                title={contacts.none}
                text={contacts.noneText}
                action={
                  canWrite && (
                    <>
                      {add}
                      {importLink}
                    </>
                  )
                }
              />
            )
          }
        >
          {(rows) => (
            <Table isBusy={pages.isPlaceholderData} isLinked rows={rows} keyOf={({ id }) => id} columns={columns} />
          )}
        </PagedList>
      </div>
      {open === 'new' && <NewContact onClose={() => setOpen(undefined)} />}
      {open === 'tags' && <TagList onClose={() => setOpen(undefined)} />}
    </Page>
  )
}

const columns: Column<ItemOf<'GET /contacts'>>[] = [
  {
    label: contacts.name,
    cell: (contact) => (
      <span className="line contacts-person">
        <Avatar name={nameOf(contact)} />
        <span className="grow">
          <Link href={`/contacts/${contact.id}`} className="row-link">
            {nameOf(contact)}
          </Link>
          {contact.email && <span className="soft small contacts-email">{contact.email}</span>}
        </span>
        {contact.opted_out_at && <Badge tone="amber">{contacts.optedOut}</Badge>}
      </span>
    ),
  },
  {
    label: contacts.phone,
    cellClassName: 'nowrap numeric',
    cell: ({ phone }) => phone && <bdi>{phone}</bdi>,
  },
  { label: contacts.company, cell: ({ company }) => company ?? '' },
  {
    label: contacts.tags,
    cell: ({ tags }) =>
      tags.length > 0 && (
        <span className="row">
          {tags.slice(0, 3).map(({ id, name, color }) => (
            <Tag key={id} name={name} color={color} />
          ))}
          {tags.length > 3 && <Badge>+{tags.length - 3}</Badge>}
        </span>
      ),
  },
  {
    label: contacts.channels,
    cell: (contact) => (
      <span className="row">
        {contact.channels.map((channel) => (
          <ChannelMark key={channel} channel={channel} />
        ))}
        <StartConversation contact={contact} kind="icon" />
      </span>
    ),
  },
  {
    label: contacts.added,
    className: 'end',
    cellClassName: 'nowrap soft',
    cell: ({ created_at }) => formatDate(created_at),
  },
]

/** Adds a contact by phone number. For a known number it opens the existing contact. */
function NewContact({ onClose }: { onClose: () => void }) {
  const [, navigate] = useLocation()
  const [tags, setTags] = useState<string[]>([])
  const create = useChange('POST /contacts', {
    stale: ['GET /contacts', 'GET /tags'],
    done: ({ created_at: at }) => (Date.now() - Date.parse(at) < 60_000 ? contacts.created : contacts.known),
    onDone: ({ id }) => {
      onClose()
      navigate(`/contacts/${id}`)
    },
  })
  const form = useFormFields({ phone: '', name: '', email: '', company: '' }, create.error, ['tags'])
  const { values, errors } = form
  const bind = (name: keyof typeof values) => ({ label: contacts[name], autoComplete: 'off', ...form.bind(name) })
  return (
    <FormDialog
      title={contacts.addTitle}
      action={contacts.add}
      isBusy={create.isPending}
      error={errors.rest}
      onSubmit={() => create.mutate({ body: { ...values, tags } })}
      onClose={onClose}
    >
      <InputField {...bind('phone')} hint={contacts.phoneHint} type="tel" required />
      <InputField {...bind('name')} maxLength={500} />
      <InputField {...bind('email')} type="email" maxLength={320} />
      <InputField {...bind('company')} maxLength={500} />
      <Field label={contacts.tags} hint={contacts.tagHint} error={errors.tags}>
        {() => <TagInput names={tags} onChange={setTags} />}
      </Field>
    </FormDialog>
  )
}
