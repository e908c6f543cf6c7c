/** The page of a segment: its rules, its contacts and its actions. */
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { Button, IconButton } from '../../../ui/controls.tsx'
import { Avatar, Badge, Card, EmptyState } from '../../../ui/display.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { type DataOf, pathOf, useCall, useChange, usePages } from '../lib/api.ts'
import { nameOf } from '../lib/people.ts'
import { useCanWrite, useIsManager } from '../lib/session.tsx'
import { formatNumber } from '../lib/time.ts'
import { NotFound } from '../shell/not-found.tsx'
import { ConfirmCall } from '../ui/dialogs.tsx'
import { AnchorButton, LinkButton } from '../ui/link-button.tsx'
import { Page, PagedList, QueryView, ViewerNote } from '../ui/page.tsx'
import { words } from '../words/words.ts'
import { AddContacts } from './add-contacts.tsx'
import { useFilterText } from './describe.ts'

const { segments } = words

type Segment = DataOf<'GET /segments/{id}'>

export function SegmentPage({ id }: { id: string }) {
  const query = useCall('GET /segments/{id}', { params: { id } })
  return (
    <QueryView query={query} notFound={<NotFound />}>
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
        <p className="segments-filter">
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
                  size="small"
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
      action={segments.delete}
      danger
      call="DELETE /segments/{id}"
      input={{ params: { id } }}
      stale={['GET /segments']}
      done={segments.deleted}
      onDone={() => navigate('/segments', { replace: true })}
      onClose={onClose}
    >
      {segments.deleteText}
    </ConfirmCall>
  )
}
