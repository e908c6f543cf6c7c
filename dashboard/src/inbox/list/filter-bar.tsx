/** The filters of the conversation list: status, assignee and unread, and buttons for the order, saved views and other filters. */
import type { ReactNode } from 'react'
import { Icon } from '../../../../ui/icon.tsx'
import { Menu } from '../../../../ui/menu.tsx'
import { useCall } from '../../lib/api.ts'
import { useSearchParam } from '../../lib/hooks.ts'
import { words } from '../../words/words.ts'
import { openDialog } from '../actions/dialogs.tsx'
import { countFilters, type Filters, setFilters, sorts, statusTabs, unassigned } from '../model/filters.ts'
import { useUnreadMentions } from '../model/unread-mentions.ts'

const { list, flow } = words.inbox

export function FilterBar({ filters }: { filters: Filters }) {
  const counts = useCall('GET /conversations/counts', {}, { live: true }).data
  const statusCounts = { open: counts?.open, pending: counts?.pending, closed: undefined, all: undefined }
  const unreadMentions = useUnreadMentions()
  const [mentionsInUrl, setMentions] = useSearchParam('mentions')
  const isMentions = mentionsInUrl === 'true'
  const toggleAssigned = (assigned: 'me' | typeof unassigned) =>
    setFilters({ assigned: filters.assigned === assigned ? '' : assigned })
  return (
    <>
      <fieldset className="inbox-tabs">
        <legend className="offscreen">{list.statusLabel}</legend>
        {statusTabs.map((status) => (
          <Toggle
            key={status}
            isOn={filters.status === status}
            count={statusCounts[status]}
            onClick={() => setFilters({ status })}
          >
            {list.statuses[status]}
          </Toggle>
        ))}
      </fieldset>
      <fieldset className="inbox-chips">
        <legend className="offscreen">{list.filters}</legend>
        <Toggle isOn={filters.assigned === 'me'} count={counts?.mine} onClick={() => toggleAssigned('me')}>
          {list.mine}
        </Toggle>
        <Toggle
          isOn={filters.assigned === unassigned}
          count={counts?.unassigned}
          onClick={() => toggleAssigned(unassigned)}
        >
          {list.unassigned}
        </Toggle>
        <Toggle isOn={filters.unread} count={counts?.unread} onClick={() => setFilters({ unread: !filters.unread })}>
          {list.unread}
        </Toggle>
        <Toggle
          isOn={isMentions}
          title={words.inbox.mentions.label}
          count={unreadMentions.length}
          onClick={() => setMentions(isMentions ? '' : 'true')}
        >
          <span className="offscreen">{words.inbox.mentions.label}</span>
          <Icon name="mention" />
        </Toggle>
      </fieldset>
    </>
  )
}

/** The order, the saved views and the other filters, beside the search box. */
export function ListTools({ filters }: { filters: Filters }) {
  const filterCount = countFilters(filters)
  // Loaded before the dialog opens, so that it starts at the first view.
  useCall('GET /views', {})
  return (
    <span className="inbox-tools">
      <Menu
        label={flow.sort}
        button={
          <button
            type="button"
            className="inbox-toggle"
            data-on={filters.sort === 'newest' ? undefined : ''}
            aria-label={`${flow.sort}: ${flow.sorts[filters.sort]}`}
            title={`${flow.sort}: ${flow.sorts[filters.sort]}`}
          >
            <Icon name="sort" />
          </button>
        }
        items={sorts.map((sort) => ({
          key: sort,
          label: flow.sorts[sort],
          checked: filters.sort === sort,
          onSelect: () => setFilters({ sort }),
        }))}
      />
      <button
        type="button"
        className="inbox-toggle"
        aria-label={flow.views}
        title={flow.views}
        onClick={() => openDialog({ kind: 'views' })}
      >
        <Icon name="view" />
      </button>
      <button
        type="button"
        className="inbox-toggle"
        data-on={filterCount > 0 ? '' : undefined}
        aria-label={filterCount > 0 ? `${flow.filters}: ${flow.filtersOn(filterCount)}` : flow.filters}
        title={filterCount > 0 ? flow.filtersOn(filterCount) : flow.filters}
        onClick={() => openDialog({ kind: 'filters' })}
      >
        <Icon name="filter" />
        {filterCount > 0 && <small>{filterCount}</small>}
      </button>
    </span>
  )
}

type ToggleProps = {
  isOn: boolean
  count?: number | undefined
  title?: string
  onClick: () => void
  children: ReactNode
}

const Toggle = ({ isOn, count, title, onClick, children }: ToggleProps) => (
  <button
    type="button"
    className="inbox-toggle"
    data-on={isOn ? '' : undefined}
    aria-pressed={isOn}
    title={title}
    onClick={onClick}
  >
    {children}
    {count !== undefined && count > 0 && <small>{list.atMost(count)}</small>}
  </button>
)
