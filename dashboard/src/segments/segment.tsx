/** The page of a segment: its rules, its contacts and its actions. */
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { Button, Checkbox, IconButton, SearchInput } from '../../../ui/controls.tsx'
import { Avatar, Badge, Card, EmptyState, ErrorNote } from '../../../ui/display.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { Dialog } from '../../../ui/overlays.tsx'
import { type DataOf, describeError, pathOf, useCall, useChange, usePages } from '../lib/api.ts'
import { useDebounced } from '../lib/hooks.ts'
import { nameOf } from '../lib/people.ts'
import { useCanWrite, useIsManager } from '../lib/session.tsx'
import { formatNumber } from '../lib/time.ts'
import { ItemNotFound } from '../shell/errors.tsx'
import { ConfirmCall } from '../ui/dialogs.tsx'
import { AnchorButton, LinkButton } from '../ui/link-button.tsx'
import { Page, PagedList, QueryView, ViewerNote } from '../ui/page.tsx'
import { words } from '../words/words.ts'
import { useFilterText } from './describe.ts'

const { segments } = words

type Segment = DataOf<'GET /segments/{id}'>

export function SegmentPage({ id }: { id: string }) {
  const query = useCall('GET /segments/{id}', { params: { id } })
  return (
    <QueryView query={query} notFound={<ItemNotFound {...segments.notFound} href="/segments" />}>
      {(segment) => <Segment segment={segment} />}
    </QueryView>
  )
}

function Segment({ segment }: { segment: Segment }) {
  const { id, name, description, kind, filter, member_count: count } = segment
  const [open, setOpen] = useState<'delete' | 'add'>()
  const isManager = useIsManager()
  const canWrite = useCanWrite()
  const describe = useFilterText()
  return (
    <Page
      title={name}
      lead={description ?? segments.kindHints[kind]}
      back={{ href: '/segments', label: segments.title }}
      actions={
        <>
          {isManager && (
            <AnchorButton
              label={segments.export}
              icon="download"
              href={pathOf('GET /contacts.csv', { query: { segment_id: id } })}
              download
            />
          )}
          {canWrite && (
            <>
              <Button label={segments.delete} icon="trash" onClick={() => setOpen('delete')} />
              <LinkButton label={segments.edit} icon="edit" href={`/segments/${id}/edit`} />
              <LinkButton
                label={segments.broadcast}
                variant="primary"
                icon="broadcasts"
                href={`/broadcasts/new?segment=${id}`}
              />
            </>
          )}
        </>
      }
    >
      <ViewerNote />
      {filter && (
        <p className="segments-filter soft">
          <Icon name="filter" />
          {describe(filter)}
        </p>
      )}
      <Card
        flush
        title={
          <span className="row">
            {segments.members}
            <Badge tone="accent">{formatNumber(count)}</Badge>
          </span>
        }
        actions={
          kind === 'static' &&
          canWrite && <Button label={segments.addContacts} icon="plus" size="small" onClick={() => setOpen('add')} />
        }
      >
        <Members segment={segment} />
      </Card>
      {open === 'delete' && <Delete segment={segment} onClose={() => setOpen(undefined)} />}
      {open === 'add' && <AddContacts segmentId={id} onClose={() => setOpen(undefined)} />}
    </Page>
  )
}

const stale = ['GET /segments/{id}', 'GET /segments/{id}/contacts'] as const

function Members({ segment: { id, kind } }: { segment: Segment }) {
  const canWrite = useCanWrite()
  const pages = usePages('GET /segments/{id}/contacts', { params: { id } })
  const remove = useChange('DELETE /segments/{id}/contacts', {
    stale,
    done: segments.removed,
    reportsError: true,
  })
  return (
    <PagedList
      pages={pages}
      empty={
        <EmptyState
          icon="segments"
          title={segments.noMembers}
          text={kind === 'static' ? segments.noMembersStatic : segments.noMembersDynamic}
        />
      }
    >
      {(contacts) => (
        <ul className="segments-members">
          {contacts.map((contact) => (
            <li key={contact.id}>
              <Avatar name={nameOf(contact)} size="small" />
              <Link href={`/contacts/${contact.id}`} className="cut">
                {nameOf(contact)}
              </Link>
              <span className="soft small grow cut">
                <bdi>{contact.name ? (contact.phone ?? '') : ''}</bdi>
              </span>
              {kind === 'static' && canWrite && (
                <IconButton
                  icon="close"
                  label={segments.removeOne(nameOf(contact))}
                  onClick={() => remove.mutate({ params: { id }, body: { contact_ids: [contact.id] } })}
                />
              )}
            </li>
          ))}
        </ul>
      )}
    </PagedList>
  )
}

function Delete({ segment: { id, name }, onClose }: { segment: Segment; onClose: () => void }) {
  const [, navigate] = useLocation()
  return (
    <ConfirmCall
      title={segments.deleteTitle(name)}
      text={segments.deleteText}
      action={segments.delete}
      danger
      call="DELETE /segments/{id}"
      input={{ params: { id } }}
      stale={['GET /segments']}
      done={segments.deleted}
      onDone={() => navigate('/segments', { replace: true })}
      onClose={onClose}
    />
  )
}

/** Adds contacts to a static segment: search, select, add. */
function AddContacts({ segmentId, onClose }: { segmentId: string; onClose: () => void }) {
  const [search, setSearch] = useState('')
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const searchText = useDebounced(search.trim())
  const pages = usePages('GET /contacts', { query: searchText ? { search: searchText } : {} }, { keepPrevious: true })
  const add = useChange('POST /segments/{id}/contacts', {
    stale: ['GET /segments/{id}', 'GET /segments/{id}/contacts'],
    done: ({ added }) => segments.added(added),
    onDone: onClose,
  })
  const toggle = (id: string, isSelected: boolean) => {
    const next = new Set(selected)
    if (isSelected) next.add(id)
    else next.delete(id)
    setSelected(next)
  }
  return (
    <Dialog title={segments.addTitle} onClose={onClose}>
      <SearchInput
        autoFocus
        label={segments.addSearch}
        value={search}
        onChange={(event) => setSearch(event.target.value)}
      />
      <div className="stack segments-people">
        <PagedList pages={pages} empty={<p className="soft">{segments.noMatch}</p>}>
          {(contacts) =>
            contacts.map((contact) => (
              <Checkbox
                key={contact.id}
                label={nameOf(contact)}
                hint={contact.name ? contact.phone : undefined}
                checked={selected.has(contact.id)}
                disabled={!selected.has(contact.id) && selected.size >= 1_000}
                onChange={(event) => toggle(contact.id, event.target.checked)}
              />
            ))
          }
        </PagedList>
      </div>
      {add.error && <ErrorNote>{describeError(add.error)}</ErrorNote>}
      <div className="dialog-foot">
        <Button label={words.common.cancel} onClick={onClose} />
        <Button
          label={segments.addDo(selected.size)}
          variant="primary"
          disabled={selected.size === 0}
          busy={add.isPending}
          onClick={() => add.mutate({ params: { id: segmentId }, body: { contact_ids: [...selected] } })}
        />
      </div>
    </Dialog>
  )
}
