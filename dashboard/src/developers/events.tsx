/** The recorded events, newest first, with filters in the URL. A row opens the event. */
import { Link, useSearch } from 'wouter'
import { Badge } from '../../../ui/badge.tsx'
import { Button } from '../../../ui/button.tsx'
import { SearchInput, Select } from '../../../ui/form.tsx'
import { EmptyState } from '../../../ui/state.tsx'
import { type ItemOf, restartPages, useCall, usePages } from '../lib/api.ts'
import { useDebounced, useSearchParam } from '../lib/hooks.ts'
import { formatExact } from '../lib/time.ts'
import { DeveloperTabs } from '../ui/developer-tabs.tsx'
import { LinkButton } from '../ui/link-button.tsx'
import { Page } from '../ui/page.tsx'
import { splitUrl } from '../webhooks/endpoint.tsx'
import { statusTones } from '../webhooks/use-deliveries.ts'
import { words } from '../words/words.ts'
import { EventDialog } from './event.tsx'
import { newItemsPollMs } from './new-items.ts'
import { StillList } from './still-list.tsx'

const { developers } = words
const { events: text } = developers
const { columns } = text
const { statuses } = words.webhooks.log

type RecordedEvent = ItemOf<'GET /events'>

const eventNames = ['message.received', 'message.status_updated', 'conversation.created', 'contact.created'] as const

type EventQuery = { event?: (typeof eventNames)[number]; search?: string }

export function Events() {
  const [event, setEvent] = useSearchParam('event')
  const [search, setSearch] = useSearchParam('search')
  const [open, setOpen] = useSearchParam('id')
  const wanted = useDebounced(search.trim())
  const name = eventNames.find((each) => each === event)
  const query: EventQuery = { ...(name ? { event: name } : {}), ...(wanted ? { search: wanted } : {}) }
  const isFiltered = Object.keys(query).length > 0
  const clear = () => {
    setEvent('')
    setSearch('')
  }
  return (
    <Page title={text.title} lead={text.lead}>
      <DeveloperTabs />
      <search className="toolbar dev-filters" aria-label={text.filters}>
        <SearchInput
          label={text.search}
          value={search}
          maxLength={200}
          onChange={(change) => setSearch(change.target.value)}
        />
        <Select aria-label={text.event} value={name ?? ''} onChange={(change) => setEvent(change.target.value)}>
          <option value="">{text.allEvents}</option>
          {eventNames.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </Select>
        {isFiltered && (
          <Button variant="quiet" icon="close" onClick={clear}>
            {text.clear}
          </Button>
        )}
      </search>
      <EventList query={query} isFiltered={isFiltered} />
      {open && <EventDialog id={open} onClose={() => setOpen('')} />}
    </Page>
  )
}

function EventList({ query, isFiltered }: { query: EventQuery; isFiltered: boolean }) {
  const pages = usePages('GET /events', { query }, { keepPrevious: true, isStill: true })
  const newest = useCall('GET /events', { query: { ...query, limit: 50 } }, { pollMs: newItemsPollMs })
  // The states of the events shown change in place.
  const current = new Map(newest.data?.map((each) => [each.id, each]))
  return (
    <StillList
      pages={pages}
      newest={newest}
      showNewText={text.showNew}
      onShowNew={() => void restartPages('GET /events', { query })}
      empty={<Nothing isFiltered={isFiltered} />}
    >
      <Table events={pages.items.map((item) => current.get(item.id) ?? item)} />
    </StillList>
  )
}

function Table({ events }: { events: readonly RecordedEvent[] }) {
  return (
    <table className="table dev-log" aria-label={text.list}>
      <thead>
        <tr>
          <th scope="col">{columns.event}</th>
          <th scope="col">{columns.subject}</th>
          <th scope="col">{columns.deliveries}</th>
          <th scope="col" className="end">
            {columns.at}
          </th>
        </tr>
      </thead>
      <tbody>
        {events.map((event) => (
          <Row key={event.id} event={event} />
        ))}
      </tbody>
    </table>
  )
}

function Row({ event: { id, event, subject_id, recorded_at, deliveries } }: { event: RecordedEvent }) {
  const search = new URLSearchParams(useSearch())
  search.set('id', id)
  return (
    <tr data-link="">
      <td>
        <Link href={`/developers/events?${search}`} className="row-link mono">
          {event}
        </Link>
      </td>
      <td data-label={columns.subject}>
        <span className="mono small soft dev-subject" title={subject_id ?? undefined}>
          {subject_id}
        </span>
      </td>
      <td data-label={columns.deliveries}>
        <span className="dev-status">
          {deliveries.length === 0 && <span className="soft">{text.notDelivered}</span>}
          {deliveries.map(({ id, status, endpoint }) => (
            <Badge key={id} tone={statusTones[status]}>
              {text.deliveredTo(splitUrl(endpoint.url).host, statuses[status])}
            </Badge>
          ))}
        </span>
      </td>
      <td data-label={columns.at} className="end nowrap soft">
        <time dateTime={recorded_at}>{formatExact(recorded_at)}</time>
      </td>
    </tr>
  )
}

function Nothing({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) {
    return (
      <EmptyState icon="search" title={text.noneSuch}>
        {text.noneSuchText}
      </EmptyState>
    )
  }
  return (
    <EmptyState icon="webhooks" title={text.empty} action={<LinkButton href="/webhooks">{text.toWebhooks}</LinkButton>}>
      {text.emptyText}
    </EmptyState>
  )
}
