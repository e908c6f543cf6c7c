/**
 * The filters of the conversation list: status, unread and, unless the sidebar is beside the list, its first entries as buttons, the
 * others as chips, and buttons for the order, the sidebar and more filters.
 */
import type { ReactNode } from 'react'
import { Icon } from '../../../../ui/icon.tsx'
import { Menu } from '../../../../ui/menu.tsx'
import { useCall } from '../../lib/api.ts'
import { useConnections } from '../../lib/connections.ts'
import { useSearchParam } from '../../lib/hooks.ts'
import { memberName } from '../../lib/people.ts'
import { words } from '../../words/words.ts'
import { openDialog } from '../actions/dialogs.tsx'
import {
  countFilters,
  type Filters,
  isId,
  setFilters,
  sorts,
  statusTabs,
  unassigned,
  valuesOf,
} from '../model/filters.ts'
import { useUnreadMentions } from '../model/unread-mentions.ts'
import type { SidebarState } from '../model/use-side-panel.ts'

const { list, flow } = words.inbox

type FilterBarProps = { filters: Filters; hasSidebar: boolean }

export function FilterBar({ filters, hasSidebar }: FilterBarProps) {
  const allCounts = useCall('GET /conversations/counts', {}, { live: true }).data
  // Counts without a filter would contradict a list with it.
  const assignedCounts = filters.bot || countFilters(filters) > 0 ? undefined : allCounts
  const counts = filters.assigned ? undefined : assignedCounts
  // Those of the buttons are of open conversations.
  const isOpenList = filters.status === 'open'
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
            isOn={!isMentions && filters.status === status}
            count={statusCounts[status]}
            onClick={() => setFilters({ status })}
          >
            {list.statuses[status]}
          </Toggle>
        ))}
      </fieldset>
      <div className="inbox-filter-line">
        <fieldset className="inbox-chips">
          <legend className="offscreen">{list.filters}</legend>
          {!hasSidebar && (
            <>
              <Toggle
                isOn={!isMentions && filters.assigned === 'me'}
                count={isOpenList ? assignedCounts?.mine : undefined}
                onClick={() => toggleAssigned('me')}
              >
                {list.mine}
              </Toggle>
              <Toggle
                isOn={!isMentions && filters.assigned === unassigned}
                count={isOpenList ? assignedCounts?.unassigned : undefined}
                onClick={() => toggleAssigned(unassigned)}
              >
                {list.unassigned}
              </Toggle>
            </>
          )}
          <Toggle
            isOn={!isMentions && filters.unread}
            count={isOpenList ? counts?.unread : undefined}
            onClick={() => setFilters({ unread: !filters.unread })}
          >
            {list.unread}
          </Toggle>
          {!hasSidebar && (
            <Toggle
              isOn={isMentions}
              title={words.inbox.mentions.label}
              count={unreadMentions.length}
              onClick={() => setMentions(isMentions ? '' : 'true')}
            >
              <span className="offscreen">{words.inbox.mentions.label}</span>
              <Icon name="mention" />
            </Toggle>
          )}
        </fieldset>
        <FilterChips filters={filters} hasSidebar={hasSidebar} />
      </div>
    </>
  )
}

/** The filters without a button of their own. A chip changes its filter, and its cross removes it. */
function FilterChips({ filters, hasSidebar }: FilterBarProps) {
  const chips = useChips(filters, hasSidebar)
  if (chips.length === 0) return null
  return (
    <ul className="inbox-filter-chips" aria-label={flow.filters}>
      {chips.map(({ key, text, cleared }) => (
        <li key={key}>
          <button
            type="button"
            className="cut"
            title={flow.editFilter(text)}
            aria-label={flow.editFilter(text)}
            data-opens="filters"
            onClick={() => openDialog({ kind: 'filters' })}
          >
            {text}
          </button>
          <button type="button" aria-label={flow.removeFilter(text)} onClick={() => setFilters(cleared)}>
            <Icon name="close" />
          </button>
        </li>
      ))}
    </ul>
  )
}

type Chip = { key: string; text: string; cleared: Partial<Filters> }

function useChips(filters: Filters, hasSidebar: boolean): Chip[] {
  const { assigned, team, label, tag, channel, connection, waiting, no_reply, overdue, days, after, before } = filters
  const isButton = !hasSidebar && (assigned === 'me' || assigned === unassigned)
  const members = useCall('GET /members', {}, { enabled: assigned !== '' && !isButton }).data ?? []
  const teams = useCall('GET /teams', {}, { enabled: team !== '' }).data ?? []
  const labels = useCall('GET /labels', {}, { enabled: label !== '' }).data ?? []
  const tags = useCall('GET /tags', {}, { enabled: tag !== '' }).data ?? []
  const connections = useConnections()
  const people = [
    { id: 'me', name: list.mine },
    { id: unassigned, name: list.unassigned },
    ...members.map((member) => ({ id: member.id, name: memberName(member) })),
  ]
  const channels = Object.entries(words.channels).map(([id, name]) => ({ id, name }))
  const namesIn = (text: string, known: readonly { id: string; name: string }[]) =>
    valuesOf(text)
      .map((id) => known.find((one) => one.id === id)?.name ?? (isId(id) ? '…' : id))
      .join(', ')
  const period =
    flow.periods[days] ?? [after && flow.since(after), before && flow.until(before)].filter(Boolean).join(' ')
  const chips: (Chip | false)[] = [
    assigned !== '' && !isButton && { key: 'assigned', text: namesIn(assigned, people), cleared: { assigned: '' } },
    team !== '' && {
      key: 'team',
      text: namesIn(team, [{ id: unassigned, name: flow.noTeam }, ...teams]),
      cleared: { team: '' },
    },
    label !== '' && { key: 'label', text: namesIn(label, labels), cleared: { label: '' } },
    tag !== '' && { key: 'tag', text: namesIn(tag, tags), cleared: { tag: '' } },
    channel !== '' && { key: 'channel', text: namesIn(channel, channels), cleared: { channel: '' } },
    connection !== '' && {
      key: 'connection',
      text: namesIn(connection, connections),
      cleared: { connection: '' },
    },
    no_reply && { key: 'no_reply', text: flow.noReply, cleared: { no_reply: false } },
    overdue && { key: 'overdue', text: flow.overdue, cleared: { overdue: false } },
    waiting !== '' && { key: 'waiting', text: flow.waits[waiting] ?? flow.waiting, cleared: { waiting: '' } },
    period !== '' && { key: 'period', text: period, cleared: { days: '', after: '', before: '' } },
  ]
  return chips.filter((chip) => chip !== false)
}

type ListToolsProps = { filters: Filters; sidebar: SidebarState }

/** The order, the sidebar and the other filters, beside the search box. */
export function ListTools({ filters, sidebar }: ListToolsProps) {
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
        data-on={sidebar.isDocked ? '' : undefined}
        aria-label={flow.sidebar}
        aria-expanded={sidebar.isDocked || sidebar.isDrawerOpen}
        title={flow.sidebar}
        data-opens="views"
        onClick={sidebar.toggle}
      >
        <Icon name="view" />
      </button>
      <button
        type="button"
        className="inbox-toggle"
        data-on={filterCount > 0 ? '' : undefined}
        aria-label={filterCount > 0 ? `${flow.filters}: ${flow.filtersOn(filterCount)}` : flow.filters}
        title={filterCount > 0 ? flow.filtersOn(filterCount) : flow.filters}
        data-opens="filters"
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
