/** The filters of the conversation list. They are stored in the URL, so reloading and sharing keep them. */
import { useMemo } from 'react'
import { useSearch } from 'wouter'
import { navigate } from 'wouter/use-browser-location'
import type { ListQuery } from '../../lib/conversation-lists.ts'

export const statusTabs = ['open', 'pending', 'closed', 'all'] as const
type StatusTab = (typeof statusTabs)[number]
/** The service's value for conversations without an assignee. */
export const unassigned = 'nobody'
const channels = ['msgapp', 'social', 'web'] as const

export const sorts = ['newest', 'oldest', 'waiting', 'due'] as const

/** A filter with several values has them separated by commas; one of them must match. */
export type Filters = {
  status: StatusTab
  sort: (typeof sorts)[number]
  /** `me`, `nobody` or ids of members; empty for all. */
  assigned: string
  /** `nobody` or ids of teams; empty for all. */
  team: string
  unread: boolean
  /** An automation handles it. */
  bot: boolean
  channel: string
  /** Ids of connections. */
  connection: string
  /** Ids of labels, or a name. */
  label: string
  /** Ids of tags, or a name. */
  tag: string
  /** Minutes that the customer has waited. */
  waiting: string
  /** The customer waits for a reply. */
  no_reply: boolean
  /** The time of a target has run out. */
  overdue: boolean
  /** The last message is of the last days, or of these dates in the zone of the browser. */
  days: string
  after: string
  before: string
}

export const noFilters: Filters = {
  ...{
    status: 'open',
    sort: 'newest',
    assigned: '',
    team: '',
    unread: false,
    bot: false,
    channel: '',
    label: '',
    tag: '',
  },
  ...{ connection: '', waiting: '', no_reply: false, overdue: false, days: '', after: '', before: '' },
}

/** The queue of a team: its open conversations without a member, the longest wait first. */
export const queueOf = (team: string): Filters => ({ ...noFilters, team, assigned: unassigned, sort: 'waiting' })

export const valuesOf = (list: string): string[] => (list === '' ? [] : list.split(','))

/** The service takes this many values of a filter. */
const maxValues = 25

/** The list with the value added, or without it. A full list drops its first value. */
export function toggleValue(list: string, value: string): string {
  const values = valuesOf(list)
  return (values.includes(value) ? values.filter((one) => one !== value) : [...values, value].slice(-maxValues)).join()
}

export function useFilters() {
  const search = useSearch()
  return useMemo(() => {
    const filters = parseFilters(search)
    return { filters, isPlain: !filters.assigned && !filters.unread && !filters.bot && countFilters(filters) === 0 }
  }, [search])
}

/** The filters in the query of a URL. Unknown values are ignored. */
export function parseFilters(search: string): Filters {
  const query = new URLSearchParams(search)
  const text = (name: string) => query.get(name) ?? ''
  const date = (name: string) => (/^\d{4}-\d{2}-\d{2}$/.test(text(name)) ? text(name) : '')
  const known = (name: string, isKnown: (value: string) => boolean) =>
    valuesOf(text(name)).filter(isKnown).slice(0, maxValues).join()
  return {
    status: statusTabs.find((status) => status === text('status')) ?? 'open',
    sort: sorts.find((sort) => sort === text('sort')) ?? 'newest',
    assigned: known('assigned', isAssignee),
    team: known('team', (value) => value === unassigned || isId(value)),
    unread: text('unread') === 'true',
    bot: text('bot') === 'true',
    channel: known('channel', (value) => channels.some((channel) => channel === value)),
    connection: known('connection', isId),
    label: text('label').slice(0, maxIdsLength),
    tag: text('tag').slice(0, maxIdsLength),
    waiting: /^[1-9]\d{0,4}$/.test(text('waiting')) ? text('waiting') : '',
    no_reply: text('no_reply') === 'true',
    overdue: text('overdue') === 'true',
    days: /^[1-9]\d{0,2}$/.test(text('days')) ? text('days') : '',
    after: date('after'),
    before: date('before'),
  }
}

/** Of ids, with commas. */
const maxIdsLength = maxValues * 37

export const isId = (text: string): boolean => /^[0-9a-f-]{36}$/.test(text)

const isAssignee = (text: string) => text === 'me' || text === unassigned || isId(text)

/** Whether the filter has a button of its own in the list or the sidebar. */
const isButton = (assigned: string) => assigned === 'me' || assigned === unassigned

/** The filters that the list does not show as buttons of their own. */
export function countFilters(filters: Filters): number {
  const { assigned, team, channel, connection, label, tag, waiting, no_reply, overdue, days, after, before } = filters
  const isAssigned = assigned !== '' && !isButton(assigned)
  const period = days || after || before
  return [isAssigned, team, channel, connection, label, tag, waiting, no_reply, overdue, period].filter(Boolean).length
}

/** Changes filters in the URL, which shows the list instead of the mentions. Default values are removed from it. */
export function setFilters(change: Partial<Filters>): void {
  const query = new URLSearchParams(location.search)
  for (const [name, value] of Object.entries(change)) {
    if (!value || value === noFilters[name as keyof Filters]) query.delete(name)
    else query.set(name, String(value))
  }
  for (const name of ['message', 'mentions']) query.delete(name)
  const text = query.toString()
  navigate(`${location.pathname}${text ? `?${text}` : ''}`, { replace: true })
}

export function toQuery(filters: Filters): ListQuery {
  const {
    status,
    sort,
    assigned,
    team,
    unread,
    channel,
    connection,
    label,
    tag,
    waiting,
    no_reply,
    overdue,
    days,
    after,
    before,
  } = filters
  return {
    ...(status === 'all' ? {} : { status }),
    ...(sort === 'newest' ? {} : { sort }),
    ...(assigned ? { assigned } : {}),
    ...(team ? { team } : {}),
    ...(unread ? { unread: 'true' } : {}),
    ...(filters.bot ? { handled_by: 'bot' } : {}),
    ...(channel ? { channel } : {}),
    ...(connection ? { connection } : {}),
    ...(label ? { label } : {}),
    ...(tag ? { tag } : {}),
    ...(waiting ? { waiting_minutes: waiting } : {}),
    ...(no_reply ? { no_reply: 'true' } : {}),
    ...(overdue ? { overdue: 'true' } : {}),
    ...(days ? { active_days: days } : {}),
    ...(after ? { active_after: startOfDay(after, 0) } : {}),
    ...(before ? { active_before: startOfDay(before, 1) } : {}),
  }
}

/** The filters of a saved view. */
export function fromQuery(query: ListQuery): Filters {
  return {
    status: query.status ?? 'all',
    sort: query.sort ?? 'newest',
    assigned: query.assigned ?? '',
    team: query.team ?? '',
    unread: query.unread === 'true',
    bot: query.handled_by === 'bot',
    channel: query.channel ?? '',
    connection: query.connection ?? '',
    label: query.label ?? '',
    tag: query.tag ?? '',
    waiting: query.waiting_minutes ?? '',
    no_reply: query.no_reply === 'true',
    overdue: query.overdue === 'true',
    days: query.active_days ?? '',
    after: query.active_after ? dayOf(query.active_after, 0) : '',
    before: query.active_before ? dayOf(query.active_before, 1) : '',
  }
}

/** Whether the list shows exactly these filters, whatever its order is. */
export const hasSameFilters = (one: Filters, other: Filters): boolean =>
  JSON.stringify(toQuery({ ...one, sort: 'newest' })) === JSON.stringify(toQuery({ ...other, sort: 'newest' }))

/** Midnight of a date in the zone of the browser, `daysLater`. */
function startOfDay(date: string, daysLater: number): string {
  const [year = 0, month = 1, day = 1] = date.split('-').map(Number)
  return new Date(year, month - 1, day + daysLater).toISOString()
}

function dayOf(time: string, daysEarlier: number): string {
  const at = new Date(time)
  const day = new Date(at.getFullYear(), at.getMonth(), at.getDate() - daysEarlier)
  const pad = (number: number) => String(number).padStart(2, '0')
  return `${day.getFullYear()}-${pad(day.getMonth() + 1)}-${pad(day.getDate())}`
}

/** The path of a conversation, with the current filters. `message`: the message to scroll to and highlight. */
export function hrefOf(search: string, id: string, message?: string): string {
  const query = new URLSearchParams(search)
  query.delete('message')
  if (message) query.set('message', message)
  const text = query.toString()
  return `/inbox${id ? `/${id}` : ''}${text ? `?${text}` : ''}`
}
