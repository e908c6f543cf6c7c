/**
 * The list of contacts with their number, search, filters and an order by name, company or the time they were added. All of them are
 * stored in the URL. Selected contacts can be tagged and exported.
 */
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import {
  Button,
  Checkbox,
  Field,
  IconButton,
  InputField,
  SearchInput,
  Select,
  SelectField,
} from '../../../ui/controls.tsx'
import { Avatar, Badge, EmptyState } from '../../../ui/display.tsx'
import { Menu } from '../../../ui/menu.tsx'
import { StartConversation } from '../inbox/composer/start-button.tsx'
import { pathOf, useCall, useChange, usePages } from '../lib/api.ts'
import { useFormFields } from '../lib/field-errors.ts'
import { useMedia, useUrlFilters } from '../lib/hooks.ts'
import { nameOf } from '../lib/people.ts'
import { useCanWrite, useIsManager } from '../lib/session.tsx'
import { formatDate } from '../lib/time.ts'
import { ChannelMark, type ChannelName } from '../ui/channel.tsx'
import { FormDialog } from '../ui/dialogs.tsx'
import { AnchorButton, LinkButton } from '../ui/link-button.tsx'
import { Marked } from '../ui/marked.tsx'
import { Page, PagedList, ViewerNote } from '../ui/page.tsx'
import { Popover } from '../ui/popover.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { Tag } from '../ui/tag.tsx'
import { words } from '../words/words.ts'
import { BulkBar, type Contact, type Selection, useSelection } from './bulk-bar.tsx'
import { TagInput } from './tag-input.tsx'
import { TagList } from './tag-list.tsx'

const { contacts } = words
const channelNames: readonly ChannelName[] = ['msgapp', 'social', 'web']

export function ContactList() {
  const isManager = useIsManager()
  const canWrite = useCanWrite()
  const [, navigate] = useLocation()
  const [open, setOpen] = useState<'new' | 'tags' | 'filters'>()
  const isNarrow = useMedia('(max-width: 46rem)')
  const filters = useUrlFilters(['tag', 'channel', 'opted_out', 'sort'], ['search'])
  const { channel: channelInUrl, opted_out: optedOut, sort: sortInUrl, ...others } = filters.query
  const sort = sorts.find((name) => name === sortInUrl)
  const channel = channelNames.find((name) => name === channelInUrl)
  const query = {
    ...others,
    ...(channel ? { channel } : {}),
    ...(optedOut ? { opted_out: 'true' as const } : {}),
  }
  const pages = usePages('GET /contacts', { query: { ...query, ...(sort ? { sort } : {}) } }, { keepPrevious: true })
  const total = useCall('GET /contacts/count', { query }, { keepPrevious: true }).data
  const selection = useSelection(pages.items)
  const tags = useCall('GET /tags', {})
  const isFiltered = Object.keys(query).length > 0
  const { search: _, ...sheetFilters } = query
  const filterCount = Object.keys(sheetFilters).length
  const exportPath = pathOf('GET /contacts.csv', { query })
  const tagFilter = {
    options: [['', contacts.anyTag], ...(tags.data ?? []).map(({ id, name }) => [id, name] as const)] as const,
    ...filters.bind('tag'),
  }
  const channelFilter = {
    options: [['', contacts.anyChannel], ...Object.entries(words.channels)] as const,
    ...filters.bind('channel'),
  }
  const optedOutFilter = (
    <Checkbox
      label={contacts.optedOut}
      checked={optedOut === 'true'}
      onChange={({ target }) => filters.set('opted_out', target.checked ? 'true' : '')}
    />
  )
  const add = <Button label={contacts.add} variant="primary" icon="plus" onClick={() => setOpen('new')} />
  const importLink = isManager && <LinkButton label={contacts.import} href="/contacts/import" icon="upload" />
  return (
    <Page
      title={contacts.title}
      // The line of the number is kept free while it loads.
      lead={total ? contacts.total(total.count, total.has_more) : '\u00a0'}
      actions={
        <>
          {isManager && !isNarrow && (
            <>
              {importLink}
              <AnchorButton label={contacts.export} icon="download" href={exportPath} download />
            </>
          )}
          {canWrite && !isNarrow && <Button label={contacts.tags} icon="tag" onClick={() => setOpen('tags')} />}
          {canWrite && isNarrow && (
            <Menu
              label={contacts.more}
              button={<IconButton label={contacts.more} icon="more" size="medium" />}
              items={[
                ...(isManager
                  ? [
                      {
                        icon: 'upload' as const,
                        label: contacts.import,
                        onSelect: () => navigate('/contacts/import'),
                      },
                      {
                        icon: 'download' as const,
                        label: contacts.export,
                        onSelect: () => location.assign(exportPath),
                      },
                    ]
                  : []),
                { icon: 'tag', label: contacts.tags, onSelect: () => setOpen('tags') },
              ]}
            />
          )}
          {canWrite && add}
        </>
      }
    >
      <ViewerNote />
      <search className="row toolbar">
        <SearchInput label={contacts.search} {...filters.bind('search')} />
        {isNarrow ? (
          <IconButton
            label={contacts.filters(filterCount)}
            icon="filter"
            size="medium"
            variant={filterCount > 0 ? 'primary' : undefined}
            onClick={() => setOpen('filters')}
          />
        ) : (
          <>
            <Select aria-label={contacts.tags} {...tagFilter} />
            <Select aria-label={contacts.channels} {...channelFilter} />
            {optedOutFilter}
          </>
        )}
      </search>
      {selection.rows.length > 0 && <BulkBar selection={selection} />}
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
            <Table
              isBusy={pages.isPlaceholderData}
              isLinked
              className="contacts-table"
              rows={rows}
              keyOf={({ id }) => id}
              columns={columnsOf({ sort, onSort: (next) => filters.set('sort', next), selection, canSelect: canWrite })}
            />
          )}
        </PagedList>
      </div>
      {open === 'new' && <NewContact onClose={() => setOpen(undefined)} />}
      {open === 'filters' && (
        <Popover title={contacts.filters(0)} anchor={undefined} onClose={() => setOpen(undefined)}>
          <SelectField label={contacts.tags} {...tagFilter} />
          <SelectField label={contacts.channels} {...channelFilter} />
          {/* On a phone, where a table has no head. */}
          <SelectField
            label={contacts.order}
            options={[['', contacts.orders.newest], ...sorts.map((name) => [name, contacts.orders[name]] as const)]}
            {...filters.bind('sort')}
          />
          {optedOutFilter}
        </Popover>
      )}
      {open === 'tags' && <TagList onClose={() => setOpen(undefined)} />}
    </Page>
  )
}

const sorts = ['name', 'name_desc', 'company', 'company_desc'] as const
type Sort = (typeof sorts)[number]

type ColumnOptions = {
  sort: Sort | undefined
  onSort: (sort: Sort | '') => void
  selection: Selection
  canSelect: boolean
}

const columnsOf = ({ sort, onSort, selection, canSelect }: ColumnOptions): Column<Contact>[] => {
  /** Ascending, then descending, then by the time they were added. */
  const sortBy = (name: 'name' | 'company') => ({
    direction: sort === name ? ('ascending' as const) : sort === `${name}_desc` ? ('descending' as const) : undefined,
    onSort: () => onSort(sort === name ? `${name}_desc` : sort === `${name}_desc` ? '' : name),
  })
  return [
    {
      label: contacts.name,
      sort: sortBy('name'),
      cell: (contact) => (
        <span className="line contacts-person">
          {canSelect && (
            <input
              type="checkbox"
              aria-label={contacts.select(nameOf(contact))}
              checked={selection.has(contact.id)}
              disabled={selection.isFull && !selection.has(contact.id)}
              onChange={(event) =>
                event.nativeEvent instanceof PointerEvent && event.nativeEvent.shiftKey
                  ? selection.selectUpTo(contact.id)
                  : selection.toggle(contact.id)
              }
            />
          )}
          <Avatar name={nameOf(contact)} />
          <span className="grow">
            <Link href={`/contacts/${contact.id}`} className="row-link cut" title={nameOf(contact)}>
              {nameOf(contact)}
            </Link>
            {contact.email && (
              <span className="soft small cut" title={contact.email}>
                {contact.email}
              </span>
            )}
          </span>
          {contact.opted_out_at && <Badge tone="amber">{contacts.optedOut}</Badge>}
        </span>
      ),
    },
    {
      label: contacts.phone,
      cellClassName: 'nowrap numeric',
      narrow: 'plain',
      cell: ({ phone, username }) => (phone || username) && <bdi>{phone ?? `@${username}`}</bdi>,
    },
    {
      label: contacts.company,
      className: 'contacts-company',
      sort: sortBy('company'),
      cellClassName: 'minor',
      cell: ({ company }) => company ?? '',
    },
    {
      label: contacts.tags,
      narrow: 'plain',
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
      narrow: 'status',
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
      className: 'end contacts-added',
      cellClassName: 'nowrap soft minor',
      sort: { direction: sort ? undefined : 'descending', onSort: () => onSort('') },
      cell: ({ created_at }) => formatDate(created_at),
    },
  ]
}

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
      <InputField {...bind('email')} inputMode="email" maxLength={320} />
      <InputField {...bind('company')} maxLength={500} />
      <Field label={contacts.tags} hint={<Marked text={contacts.tagHint} isKeys />} error={errors.tags}>
        {() => <TagInput names={tags} onChange={setTags} />}
      </Field>
    </FormDialog>
  )
}
