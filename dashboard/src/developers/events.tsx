/** The recorded events, newest first. A row opens the event. */

import { SearchInput, Select } from '../../../ui/controls.tsx'
import { Badge } from '../../../ui/display.tsx'
import { type ItemOf, restartPages, useCall, usePages } from '../lib/api.ts'
import { useSearchParam, useUrlFilters } from '../lib/hooks.ts'
import { formatExact } from '../lib/time.ts'
import { LinkButton } from '../ui/link-button.tsx'
import { type Column, RowLink } from '../ui/table.tsx'
import { eventNames, splitUrl } from '../webhooks/endpoint.tsx'
import { statusTones } from '../webhooks/use-deliveries.ts'
import { words } from '../words/words.ts'
import { EventDialog } from './event.tsx'
import { LogPage, newestLimit, newestRows, stillRows } from './log-page.tsx'

const { events: text } = words.developers
const { statuses } = words.webhooks.log

export function Events() {
  const [open, setOpen] = useSearchParam('id')
  const filters = useUrlFilters(['event'], ['search'])
  const { search } = filters.query
  const event = eventNames.find((name) => name === filters.query.event)
  const query = { ...(event ? { event } : {}), ...(search ? { search } : {}) }
  return (
    <LogPage
      text={text}
      filters={filters}
      controls={
        <>
          <SearchInput label={text.search} maxLength={200} {...filters.bind('search')} />
          <Select
            aria-label={text.event}
            options={[['', text.allEvents], ...eventNames.map((name) => [name, name] as const)]}
            {...filters.bind('event')}
            value={event ?? ''}
          />
        </>
      }
      pages={usePages('GET /events', { query }, stillRows)}
      newest={useCall('GET /events', { query: { ...query, limit: newestLimit } }, newestRows)}
      onShowNew={() => void restartPages('GET /events', { query })}
      columns={columns}
      icon="webhooks"
      action={<LinkButton label={text.toWebhooks} href="/webhooks" />}
    >
      {open && <EventDialog id={open} onClose={() => setOpen('')} />}
    </LogPage>
  )
}

const columns: Column<ItemOf<'GET /events'>>[] = [
  {
    label: text.columns.event,
    cell: ({ id, event }) => (
      <RowLink param="id" id={id}>
        {event}
      </RowLink>
    ),
  },
  {
    label: text.columns.subject,
    cell: ({ subject_id: id }) => (
      <span className="mono small soft cut dev-subject" title={id ?? undefined}>
        {id}
      </span>
    ),
  },
  {
    label: text.columns.deliveries,
    cell: ({ deliveries }) => (
      <span className="dev-status">
        {deliveries.length === 0 && <span className="soft">{text.notDelivered}</span>}
        {deliveries.map(({ id, status, endpoint }) => (
          <Badge key={id} tone={statusTones[status]}>
            {text.deliveredTo(splitUrl(endpoint.url).host, statuses[status])}
          </Badge>
        ))}
      </span>
    ),
  },
  {
    label: text.columns.at,
    className: 'end',
    cellClassName: 'nowrap soft',
    cell: ({ recorded_at: at }) => <time dateTime={at}>{formatExact(at)}</time>,
  },
]
