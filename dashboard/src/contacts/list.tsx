/** The list of contacts, newest first, with search and filters. Search and filters are stored in the URL. */
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { Avatar } from '../../../ui/avatar.tsx'
import { Badge } from '../../../ui/badge.tsx'
import { Button } from '../../../ui/button.tsx'
import { Checkbox, SearchInput, Select } from '../../../ui/form.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { EmptyState, Skeleton } from '../../../ui/state.tsx'
import { StartConversation } from '../inbox/composer/start-button.tsx'
import { type ItemOf, pathOf, useCall, usePages } from '../lib/api.ts'
import { useDebounced, useSearchParam } from '../lib/hooks.ts'
import { nameOf } from '../lib/people.ts'
import { useCanWrite, useIsManager } from '../lib/session.tsx'
import { formatDate } from '../lib/time.ts'
import { ChannelMark, type ChannelName } from '../ui/channel.tsx'
import { LinkButton } from '../ui/link-button.tsx'
import { LoadMore } from '../ui/load-more.tsx'
import { ErrorState, Page } from '../ui/page.tsx'
import { Tag } from '../ui/tag.tsx'
import { ViewerNote } from '../ui/write-access.tsx'
import { words } from '../words/words.ts'
import { NewContact } from './new-contact.tsx'
import { TagList } from './tag-list.tsx'

const { contacts } = words
const channelNames: readonly ChannelName[] = ['msgapp', 'social', 'web']

export function ContactList() {
  const isManager = useIsManager()
  const canWrite = useCanWrite()
  const [, navigate] = useLocation()
  const [search, setSearch] = useSearchParam('search')
  const [tag, setTag] = useSearchParam('tag')
  const [channel, setChannel] = useSearchParam('channel')
  const [optedOut, setOptedOut] = useSearchParam('opted_out')
  const [open, setOpen] = useState<'new' | 'tags'>()
  const wanted = useDebounced(search.trim())
  const query = {
    ...(wanted ? { search: wanted } : {}),
    ...(tag ? { tag } : {}),
    ...(isChannel(channel) ? { channel } : {}),
    ...(optedOut ? { opted_out: 'true' as const } : {}),
  }
  const pages = usePages('GET /contacts', { query }, { keepPrevious: true })
  const tags = useCall('GET /tags', {})
  const isFiltered = Object.keys(query).length > 0

  return (
    <Page
      title={contacts.title}
      lead={contacts.lead}
      actions={
        <>
          {isManager && (
            <>
              <LinkButton href="/contacts/import" icon="upload">
                {contacts.import}
              </LinkButton>
              <a className="button" href={pathOf('GET /contacts.csv', { query })} download>
                <Icon name="download" />
                {contacts.export}
              </a>
            </>
          )}
          {canWrite && (
            <>
              <Button icon="tag" onClick={() => setOpen('tags')}>
                {contacts.tags}
              </Button>
              <Button variant="primary" icon="plus" onClick={() => setOpen('new')}>
                {contacts.add}
              </Button>
            </>
          )}
        </>
      }
    >
      <ViewerNote />
      <search className="toolbar">
        <SearchInput label={contacts.search} value={search} onChange={(event) => setSearch(event.target.value)} />
        <Select aria-label={contacts.tags} value={tag} onChange={(event) => setTag(event.target.value)}>
          <option value="">{contacts.anyTag}</option>
          {tags.data?.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </Select>
        <Select aria-label={contacts.channels} value={channel} onChange={(event) => setChannel(event.target.value)}>
          <option value="">{contacts.anyChannel}</option>
          {channelNames.map((name) => (
            <option key={name} value={name}>
              {words.channels[name]}
            </option>
          ))}
        </Select>
        <Checkbox
          label={contacts.optedOut}
          checked={optedOut === 'true'}
          onChange={(event) => setOptedOut(event.target.checked ? 'true' : '')}
        />
      </search>
      <div className="card">
        {pages.isPending ? (
          <Skeleton />
        ) : pages.error && pages.items.length === 0 ? (
          <ErrorState error={pages.error} onRetry={() => void pages.refetch()} />
        ) : pages.items.length === 0 ? (
          isFiltered ? (
            <EmptyState
              icon="search"
              title={contacts.noMatch}
              action={<Button onClick={() => navigate('/contacts')}>{contacts.clear}</Button>}
            >
              {contacts.noMatchText}
            </EmptyState>
          ) : (
            <EmptyState
              icon="contacts"
              title={contacts.none}
              action={
                canWrite && (
                  <>
                    <Button variant="primary" icon="plus" onClick={() => setOpen('new')}>
                      {contacts.add}
                    </Button>
                    {isManager && (
                      <LinkButton href="/contacts/import" icon="upload">
                        {contacts.import}
                      </LinkButton>
                    )}
                  </>
                )
              }
            >
              {contacts.noneText}
            </EmptyState>
          )
        ) : (
          <>
            <table className="table" aria-busy={pages.isPlaceholderData}>
              <thead>
                <tr>
                  <th>{contacts.name}</th>
                  <th>{contacts.phone}</th>
                  <th>{contacts.company}</th>
                  <th>{contacts.tags}</th>
                  <th>{contacts.channels}</th>
                  <th className="end">{contacts.added}</th>
                </tr>
              </thead>
              <tbody>
                {pages.items.map((contact) => (
                  <Row key={contact.id} contact={contact} />
                ))}
              </tbody>
            </table>
            <LoadMore pages={pages} />
          </>
        )}
      </div>
      {open === 'new' && <NewContact onClose={() => setOpen(undefined)} />}
      {open === 'tags' && <TagList onClose={() => setOpen(undefined)} />}
    </Page>
  )
}

const isChannel = (name: string): name is ChannelName => channelNames.some((channel) => channel === name)

function Row({ contact }: { contact: ItemOf<'GET /contacts'> }) {
  const { id, phone, email, company, tags, channels, created_at: added, opted_out_at: outAt } = contact
  return (
    <tr data-link="">
      <td>
        <span className="contacts-person">
          <Avatar name={nameOf(contact)} />
          <span className="grow">
            <Link href={`/contacts/${id}`} className="row-link">
              {nameOf(contact)}
            </Link>
            {email && <span className="soft small contacts-email">{email}</span>}
          </span>
          {outAt && <Badge tone="amber">{contacts.optedOut}</Badge>}
        </span>
      </td>
      <td className="nowrap numeric" data-label={contacts.phone}>
        {phone && <bdi>{phone}</bdi>}
      </td>
      <td data-label={contacts.company}>{company ?? ''}</td>
      <td data-label={contacts.tags}>
        {tags.length > 0 && (
          <span className="row">
            {tags.slice(0, 3).map(({ id, name, color }) => (
              <Tag key={id} name={name} color={color} />
            ))}
            {tags.length > 3 && <Badge>+{tags.length - 3}</Badge>}
          </span>
        )}
      </td>
      <td data-label={contacts.channels}>
        <span className="row">
          {channels.map((channel) => (
            <ChannelMark key={channel} channel={channel} />
          ))}
          <StartConversation contact={contact} kind="icon" />
        </span>
      </td>
      <td className="end nowrap soft" data-label={contacts.added}>
        {formatDate(added)}
      </td>
    </tr>
  )
}
