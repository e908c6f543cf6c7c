/** The filters of the conversation list: status, assignee, unread and channel. */
import type { ReactNode } from 'react'
import { Icon } from '../../../ui/icon.tsx'
import { Menu } from '../../../ui/menu.tsx'
import { useCall } from '../lib/api.ts'
import { words } from '../words/words.ts'
import { type Filters, setFilters, statusTabs, unassigned } from './filters.ts'

const { list } = words.inbox

export function FilterBar({ filters }: { filters: Filters }) {
  const counts = useCall('GET /conversations/counts', {}, { live: true }).data
  const statusCounts = { open: counts?.open, pending: counts?.pending, closed: undefined, all: undefined }
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
        <Menu
          label={list.channel}
          button={
            <button
              type="button"
              className="inbox-toggle"
              data-on={filters.channel ? '' : undefined}
              aria-label={filters.channel ? `${list.channel}: ${words.channels[filters.channel]}` : list.channel}
              title={filters.channel ? words.channels[filters.channel] : list.channel}
            >
              <Icon name="filter" />
            </button>
          }
          items={(['', 'msgapp', 'social', 'web'] as const).map((channel) => ({
            key: channel,
            label: channel ? words.channels[channel] : list.anyChannel,
            checked: filters.channel === channel,
            onSelect: () => setFilters({ channel }),
          }))}
        />
      </fieldset>
    </>
  )
}

type ToggleProps = { isOn: boolean; count?: number | undefined; onClick: () => void; children: ReactNode }

const Toggle = ({ isOn, count, onClick, children }: ToggleProps) => (
  <button type="button" className="inbox-toggle" data-on={isOn ? '' : undefined} aria-pressed={isOn} onClick={onClick}>
    {children}
    {count !== undefined && count > 0 && <small>{list.atMost(count)}</small>}
  </button>
)
